import * as v from 'valibot'

/*
 * A backup, step by step:
 *
 * 1. `command/backup.ts` opens a connection of its own; `file.ts` opens a new file under an unfinished name.
 * 2. `write.ts` begins one read-only transaction and checks inside it that the schema is this program's (`tables.ts`).
 * 3. It writes the header, each table's rows by a cursor, then counts, sequences and sums of credits.
 * 4. It commits, and the last line is the SHA-256 of all lines before it. All of it is compressed on the way.
 * 5. Once the file is on the disk, it gets its name.
 *
 * A restore:
 *
 * 1. `command/backup.ts` reads the whole file once and checks it to its last byte (`read.ts`); a pipe is
 *    checked while it is loaded.
 * 2. `restore.ts` checks that the backup is not newer than this program, and that the database has no rows.
 * 3. It creates a marker table, which keeps every process from serving, and begins one transaction.
 * 4. It brings the tables to the backup's version, locks them, loads every row, counts them and sets the sequences.
 * 5. It migrates to this program's version, compares the sums of credits, drops the marker and commits.
 */

/**
 * A backup is gzip of lines of UTF-8, each one JSON value:
 *
 *     {"format":"walletscope backup","version":1,…}    the header
 *     {"table":"organization"}                          the rows of this table follow
 *     ["org_1","Acme","5",null,…]                       a row: PostgreSQL's text of each column, in the header's order
 *     {"end":{…}}                                       number of rows of each table, and sums of credits
 *     {"sha256":"…"}                                    hash of every byte before this line
 */
export const FORMAT = 'walletscope backup'
/** Raised if an older program could not read a newer file. */
export const FORMAT_VERSION = 1
/** Longest line, bytes. Our rows have a few hundred bytes. */
export const LINE_MAX = 64 * 1024 * 1024

const digits = v.pipe(v.string(), v.regex(/^-?\d{1,40}$/))
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))

const HeaderSchema = v.object({
  format: v.literal(FORMAT),
  version: v.literal(FORMAT_VERSION),
  /** When the snapshot was taken by the database's clock, ISO 8601. */
  created_at: v.string(),
  /** Version of the program that wrote it, for information. */
  program: v.string(),
  /** Version of PostgreSQL that it comes from, for information. */
  postgresql: v.string(),
  migrations: v.array(v.object({ version: count, name: v.string(), sha256 })),
  tables: v.pipe(
    v.array(v.object({ name: v.string(), columns: v.array(v.object({ name: v.string(), type: v.string() })) })),
    v.minLength(1),
  ),
})

/** First line of a backup. */
export type BackupHeader = v.InferOutput<typeof HeaderSchema>

const TrailerSchema = v.object({
  rows: v.record(v.string(), count),
  /** Last numbers of the used sequences. */
  sequences: v.array(v.object({ table: v.string(), column: v.string(), reached: digits })),
  /** Credits of all organizations. `charged`: sum of the log. `odd`: organizations with granted ≠ balance + charged. */
  ledger: v.object({ organizations: count, granted: digits, balance: digits, charged: digits, odd: count }),
})

/** Totals of a backup, written after its tables. */
export type BackupTrailer = v.InferOutput<typeof TrailerSchema>

const MarkerLineSchema = v.union([
  v.object({ table: v.string() }),
  v.object({ end: TrailerSchema }),
  v.object({ sha256 }),
])

/** Any line after the header that is not a row. */
export type MarkerLine = v.InferOutput<typeof MarkerLineSchema>

/** The file cannot be used: it is not a backup, is cut short or altered, or does not fit this program or database. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
  /** True if the database already has rows. */
  readonly isTargetFilled: boolean

  constructor(
    message: string,
    { cause, isTargetFilled = false }: { readonly cause?: unknown; readonly isTargetFilled?: boolean } = {},
  ) {
    super(message, { cause })
    this.isTargetFilled = isTargetFilled
  }
}

/** Parses the first line. Throws `BackupError`. */
export function parseHeader(line: string): BackupHeader {
  const value = parseJson(line)
  const prelude = v.safeParse(v.object({ format: v.literal(FORMAT), version: count }), value)
  if (!prelude.success) throw new BackupError('Cannot read the backup: this is not a backup of walletscope')
  if (prelude.output.version !== FORMAT_VERSION) {
    throw new BackupError(
      `Cannot read the backup: its format is version ${prelude.output.version}, this program reads ${FORMAT_VERSION}; ` +
        'run the newer program',
    )
  }
  return parseWithSchema(HeaderSchema, value)
}

/** Parses a `MarkerLine`. Throws `BackupError`. */
export function parseMarkerLine(line: string): MarkerLine {
  return parseWithSchema(MarkerLineSchema, parseJson(line))
}

/** The error for content that `writeBackup` never writes. */
export function malformedBackupError(): BackupError {
  return new BackupError('Cannot read the backup: it is malformed')
}

function parseWithSchema<T extends v.GenericSchema>(schema: T, value: unknown): v.InferOutput<T> {
  const { success, output } = v.safeParse(schema, value)
  if (!success) throw malformedBackupError()
  return output
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
