export interface RevisionWatch {
  newest: number;
}

/** Tracks reads or appends in progress, each with the newest revision that arrived after its start; -1 for none. */
export class RevisionWatches {
  readonly #watches = new Map<string, Set<RevisionWatch>>();

  begin(stream: string): RevisionWatch {
    const watch = { newest: -1 };
    const watches = this.#watches.get(stream) ?? new Set();
    this.#watches.set(stream, watches.add(watch));
    return watch;
  }

  end(stream: string, watch: RevisionWatch): void {
    const watches = this.#watches.get(stream);
    watches?.delete(watch);
    if (watches?.size === 0) this.#watches.delete(stream);
  }

  /** Records a revision that arrived. @returns whether a read or append of the stream is in progress */
  onRevision(stream: string, revision: number): boolean {
    const watches = this.#watches.get(stream);
    for (const watch of watches ?? []) watch.newest = Math.max(watch.newest, revision);
    return watches !== undefined;
  }

  newest(stream: string): number {
    let newest = -1;
    for (const watch of this.#watches.get(stream) ?? []) newest = Math.max(newest, watch.newest);
    return newest;
  }
}
