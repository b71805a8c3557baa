/** Work on a database of this machine that takes long and is rare. */
export type MaintenanceTask =
  | { readonly kind: 'checkpoint'; readonly path: string }
  /** Copies heads from the embedded event log for a limited time; answers with the position reached. */
  | { readonly kind: 'heads'; readonly path: string; readonly log: string };

export interface ToMaintenance {
  readonly id: number;
  readonly task: MaintenanceTask;
}

export type FromMaintenance =
  | { readonly id: number; readonly kind: 'done'; readonly position: string | undefined }
  | { readonly id: number; readonly kind: 'failed'; readonly message: string };
