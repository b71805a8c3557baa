import { useState } from 'react';
import type { Client } from '../../../client/src/index.ts';
import { Button } from './button.tsx';
import { useClient } from './client.tsx';
import { Problem } from './problem.tsx';

/** Lets the browser save a file. */
export const saveFile = (blob: Blob, name: string): void => {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
};

interface DownloadProps {
  readonly read: (client: Client) => Promise<ReadableStream<Uint8Array>>;
  /** Name of the saved file. */
  readonly name: string;
  readonly text: string;
  readonly size?: 'small' | 'medium';
}

/** Saves the bytes of an answer as a file. All of them stay in memory until the last one has arrived. */
export const Download = ({ read, name, text, size = 'medium' }: DownloadProps) => {
  const client = useClient();
  const [state, setState] = useState<{ readonly bytes: number } | { readonly error: unknown }>();
  const isRunning = state !== undefined && 'bytes' in state;
  const run = async (): Promise<void> => {
    setState({ bytes: 0 });
    try {
      let bytes = 0;
      const counted = (await read(client)).pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform: (chunk, controller) => {
            bytes += chunk.length;
            setState({ bytes });
            controller.enqueue(chunk);
          },
        }),
      );
      saveFile(await new Response(counted).blob(), name);
      setState(undefined);
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <>
      <Button size={size} onClick={() => void run()} disabled={isRunning}>
        {isRunning ? `${(state.bytes / 1e6).toFixed(1)} MB…` : text}
      </Button>
      {state !== undefined && 'error' in state ? <Problem error={state.error} /> : null}
    </>
  );
};
