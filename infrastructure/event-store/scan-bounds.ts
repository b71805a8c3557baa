/** A scan ends after about this many scanned events, or characters of selected events. */
export interface ScanBounds {
  readonly scanned: number;
  readonly units: number;
}

/** The caller of a scan holds the whole page, and an event may have 512 KiB. */
export const MAX_SCAN_UNITS = 8 * 1024 * 1024;

export const WHOLE: ScanBounds = { scanned: Number.POSITIVE_INFINITY, units: Number.POSITIVE_INFINITY };
