/**
 * The form of packed values: a tag and its bytes, or the pieces of a longer value. The form is stored, so tags never
 * change their meaning.
 */
export const TAGS = {
  end: 0,
  uuid: 1,
  /** A UUID that occurs earlier in the event or in its stream's name. The tag must be `uuid + 1`. */
  knownUuid: 2,
  base64: 3,
  pieces: 4,
  /** Strings of JSON, whose quotes are left out. */
  quotedUuid: 5,
  quotedKnownUuid: 6,
  quotedHash: 7,
  quotedTime: 8,
  longLiteral: 9,
  /** The part of the stream's name before the dot. */
  quotedOwner: 10,
  /** The hash at the beginning of the event. */
  quotedOwnHash: 11,
  /**
   * A UUID whose first {@link BYTES.shared} bytes are those of the event's id, as in UUIDs (version 7) of the same
   * 256 ms.
   */
  quotedNearUuid: 12,
  /** A string that occurs earlier in the event's texts: its offset and length. */
  quotedCopy: 13,
  /** Tags from here on mean `tag - literal` bytes. */
  literal: 16,
  /** Tags from here on mean a string of `tag - string` bytes. */
  string: 136,
} as const;

/** Lengths of values of a fixed length, in characters and in bytes. */
export const LENGTHS = { uuid: 36, hash: 64, time: 24 } as const;
export const BYTES = { uuid: 16, hash: 32, time: 9, shared: 5 } as const;

/** Maximum of UTF-16 units of texts that are packed; longer ones gain little. */
export const MOST_UNITS = 16 * 1024;
