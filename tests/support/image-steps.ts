import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

/** Runs the steps of the Dockerfile without a container engine: each stage is a folder in `into`. */

export interface Image {
  /** The folder of the last stage. */
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly user: string;
  readonly volume: string;
  readonly port: string;
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

const words = z.array(z.string());

/** Steps with continued lines joined, without comments. */
const stepsOf = (dockerfile: string): (readonly [string, string])[] =>
  dockerfile
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1).trim()] as const);

/** Patterns that `.dockerignore` includes, and those that it then excludes again. */
const context = (() => {
  const lines = readFileSync('.dockerignore', 'utf8').split('\n').slice(2);
  return {
    files: lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1)),
    without: lines.filter((line) => line !== '' && !line.startsWith('!')),
  };
})();

/** @param path one of the files and folders that `.dockerignore` lets through */
const copyContext = (path: string, target: string): void => {
  if (!context.files.includes(path)) throw new Error(`.dockerignore leaves out ${path}`);
  const filter = (file: string): boolean => !context.without.some((pattern) => matchesGlob(file, pattern));
  // For a folder, its content is copied.
  cpSync(path, statSync(path).isDirectory() ? target : join(target, path), { recursive: true, filter });
};

const copy = (from: string, to: string): void => {
  if (!existsSync(from)) throw new Error(`the image copies ${from}, which is not there`);
  cpSync(from, to, { recursive: true });
};

export const runImageSteps = async (into: string): Promise<Image> => {
  const stages = new Map<string, string>();
  let root = '';
  let workdir = '/';
  const image = { env: {} as Record<string, string>, user: 'root', volume: '', port: '' };
  let command: string[] = [];
  let healthCheck: string[] = [];
  const at = (path: string): string => (path.startsWith('/') ? join(root, path) : join(root, workdir, path));
  for (const [step, rest] of stepsOf(readFileSync('Dockerfile', 'utf8'))) {
    switch (step) {
      case 'FROM': {
        const name = / AS (\w+)$/.exec(rest)?.[1] ?? 'last';
        root = join(into, name);
        stages.set(name, root);
        mkdirSync(root);
        workdir = '/';
        break;
      }
      case 'WORKDIR':
        workdir = rest;
        mkdirSync(at('.'), { recursive: true });
        break;
      case 'COPY': {
        const from = /--from=(\w+)/.exec(rest)?.[1];
        const paths = rest.split(' ').filter((word) => !word.startsWith('--'));
        const target = paths.pop() ?? '';
        for (const path of paths) {
          if (from !== undefined) copy(join(stages.get(from) ?? '', path), at(target));
          else copyContext(path, at(target));
        }
        break;
      }
      case 'RUN':
        // Absolute paths begin at the stage's folder.
        await promisify(execFile)('sh', ['-c', rest.replace(/ \/(?=\w)/g, ` ${root}/`)], { cwd: at('.') });
        break;
      case 'ARG':
        break;
      case 'ENV':
        for (const pair of rest.split(' ')) {
          const [name = '', value = ''] = pair.split('=');
          image.env[name] = value.startsWith('$') ? '' : value;
        }
        break;
      case 'USER':
        image.user = rest;
        break;
      case 'VOLUME':
        image.volume = rest;
        break;
      case 'EXPOSE':
        image.port = rest;
        break;
      case 'STOPSIGNAL':
        if (rest !== 'SIGTERM') throw new Error('the server stops on SIGTERM');
        break;
      case 'HEALTHCHECK':
        healthCheck = words.parse(JSON.parse(rest.slice(rest.indexOf('[')).replaceAll('\t', ' ')));
        break;
      case 'CMD':
        command = words.parse(JSON.parse(rest));
        break;
      default:
        throw new Error(`no test knows the step ${step}`);
    }
  }
  for (const name of stages.keys()) if (name !== 'last') rmSync(join(into, name), { recursive: true });
  return { ...image, root, workdir, command, healthCheck };
};
