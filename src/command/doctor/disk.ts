import type { Config } from '../../config/config.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'

/** Least free bytes to work at all, and to work for a while. */
const LIMITS = {
  /** A first start writes 93 MB. */
  newDatabase: { needed: 100e6, enough: 1e9 },
  /** The server writes its log ahead in files of 16 MB. */
  database: { needed: 32e6, enough: 1e9 },
  /** With a `DATABASE_URL` only charges of unknown outcome are stored here. */
  journal: { needed: 1e6, enough: 100e6 },
}

const NO_ROOM = {
  newDatabase: 'the embedded database cannot be created',
  database: 'requests will be 503, as no charge can be stored',
  journal: 'a crash would lose charges to void',
}

/** Examines the room on the disk of `DATA_DIR`; the disk of a server of `DATABASE_URL` cannot be seen. */
export function examineDisk(
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  { freeBytes, hasDatabase }: { readonly freeBytes: number; readonly hasDatabase: boolean },
): Finding {
  const use = databaseUrl !== undefined ? 'journal' : hasDatabase ? 'database' : 'newDatabase'
  const { needed, enough } = LIMITS[use]
  const found = `${formatBytes(freeBytes)} free in DATA_DIR`
  if (freeBytes < needed) return failureFinding('disk', `${found}, ${formatBytes(needed)} are needed`, NO_ROOM[use])
  if (freeBytes < enough) return warningFinding('disk', found, `when it is full, ${NO_ROOM[use]}`)
  return okFinding('disk', found)
}

function formatBytes(bytes: number): string {
  return bytes < 1e9 ? `${Math.floor(bytes / 1e6)} MB` : `${(Math.floor(bytes / 1e8) / 10).toFixed(1)} GB`
}
