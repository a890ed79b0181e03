import * as v from 'valibot'

/**
 * A backup is gzip of lines of UTF-8, each one JSON value:
 *
 *     {"format":"walletscope backup","version":1,…}    what it holds
 *     {"table":"organization"}                          the rows of this table follow
 *     ["org_1","Acme","5",null,…]                       a row: PostgreSQL's text of each column, in the header's order
 *     {"end":{…}}                                       how many rows of each table, and what they add up to
 *     {"sha256":"…"}                                    of every byte before this line
 */
export const FORMAT = 'walletscope backup'
/** Version of the format above; raised when an older program could not read a newer file. */
export const FORMAT_VERSION = 1
/** Longest line, bytes. A row of ours has a few hundred. */
export const LINE_MAX = 64 * 1024 * 1024

const digits = v.pipe(v.string(), v.regex(/^-?\d{1,40}$/))
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))

const HeaderSchema = v.object({
  format: v.literal(FORMAT),
  version: v.literal(FORMAT_VERSION),
  /** The database's clock as the snapshot was taken, ISO 8601. */
  created_at: v.string(),
  /** Version of the program that wrote it, for people. */
  program: v.string(),
  /** Version of PostgreSQL that it comes from, for people. */
  postgresql: v.string(),
  migrations: v.array(v.object({ version: count, name: v.string(), sha256 })),
  tables: v.pipe(
    v.array(v.object({ name: v.string(), columns: v.array(v.object({ name: v.string(), type: v.string() })) })),
    v.minLength(1),
  ),
})

/** First line of a backup. */
export type Header = v.InferOutput<typeof HeaderSchema>

const EndSchema = v.object({
  rows: v.record(v.string(), count),
  /** Last numbers of the sequences that gave any. */
  sequences: v.array(v.object({ table: v.string(), column: v.string(), reached: digits })),
  ledger: v.object({ organizations: count, granted: digits, balance: digits, charged: digits, odd: count }),
})

/** What the tables of a backup hold, written after them. */
export type End = v.InferOutput<typeof EndSchema>

const MarkSchema = v.union([v.object({ table: v.string() }), v.object({ end: EndSchema }), v.object({ sha256 })])

/** A line that is no row. */
export type Mark = v.InferOutput<typeof MarkSchema>

/** A backup that cannot be read: another file, cut short, altered, or of a newer program. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

/** Parses the first line. Throws `BackupError`. */
export function parseHeader(line: string): Header {
  const value = parseJson(line)
  const named = v.safeParse(v.object({ format: v.literal(FORMAT), version: count }), value)
  if (!named.success) throw new BackupError('Cannot read the backup: this is not a backup of walletscope')
  if (named.output.version !== FORMAT_VERSION) {
    throw new BackupError(
      `Cannot read the backup: its format is version ${named.output.version}, this program reads ${FORMAT_VERSION}; ` +
        'run the newer program',
    )
  }
  return checked(HeaderSchema, value)
}

/** Parses a line that is no row. Throws `BackupError`. */
export function parseMark(line: string): Mark {
  return checked(MarkSchema, parseJson(line))
}

/** The failure of a backup that says what no backup can say. */
export function malformed(): BackupError {
  return new BackupError('Cannot read the backup: it is malformed')
}

function checked<T extends v.GenericSchema>(schema: T, value: unknown): v.InferOutput<T> {
  const { success, output } = v.safeParse(schema, value)
  if (!success) throw malformed()
  return output
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
