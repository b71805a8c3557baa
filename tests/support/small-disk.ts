import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly path: string;
  /** Takes all the room that is left. */
  fill(): Promise<void>;
  empty(): void;
  remove(): void;
}

/** A file system in memory, or a message if it cannot be mounted; mounting needs root on Linux. */
export const smallDisk = (megabytes: number, options = ''): SmallDisk | string => {
  const path = mkdtempSync(join(tmpdir(), 'small-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700${options}`, 'tmpfs', path], {
      stdio: 'ignore',
    });
  } catch {
    rmSync(path, { recursive: true });
    return 'no small file system can be mounted here';
  }
  const filler = join(path, 'filler');
  return {
    path,
    fill: async () => {
      const whole = Buffer.alloc(megabytes * 1024 * 1024);
      // Small pieces at the end leave no room for a page of a database.
      for (const size of [whole.length, 65_536, 4096, 1]) {
        while (
          await writeFile(filler, whole.subarray(0, size), { flag: 'a' }).then(
            () => true,
            () => false,
          )
        ) {
          // Writes until the disk is full.
        }
      }
    },
    empty: () => rmSync(filler, { force: true }),
    remove: () => {
      execFileSync('umount', ['--lazy', path]);
      rmSync(path, { recursive: true });
    },
  };
};
