import { verifyExport } from '../api/admin/verify-export.ts';
import { openSqliteEventStore } from '../infrastructure/event-store/sqlite/store.ts';
import { exportAll } from './audit.ts';
import { peakBytes } from './http/child.ts';

/** Exports the given log, or checks the given export; prints the peak memory of the process in MiB. */
const [task = '', path = ''] = process.argv.slice(2);
if (task === 'export') {
  const events = openSqliteEventStore({ path });
  await exportAll(events, '/dev/null');
  await events.close();
} else {
  const { verified } = await verifyExport({ export: path, strict: false });
  if (!verified) throw new Error('the export could not be verified');
}
process.stdout.write(String(peakBytes(process.pid) / 1024 / 1024));
