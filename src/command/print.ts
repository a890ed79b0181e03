import { fstatSync, write } from 'node:fs'
import type { Writable } from 'node:stream'
import { escapeLines } from '../lib/text/display_text.ts'
import type { CommandArgs, CommandIo, Output } from './command.ts'

/** Cells of one line of a table, in the order of its columns. */
type Row = Readonly<Record<string, string | number | bigint | Date | null>>

/** Maximum rows of one answer. */
export const LIST_MAX = 10_000

/** Prints a value as JSON with `--json`, else as `text`; what a terminal would obey or hide is escaped. */
export function print(
  value: unknown,
  { args, io, text }: { readonly args: CommandArgs; readonly io: CommandIo; readonly text: string },
): void {
  io.out(escapeLines(args.json ? JSON.stringify(value, toJsonValue, 2) : text))
}

/** Prints rows as JSON with `--json`, else as a table with aligned columns; `none` if there are no rows. */
export function printRows(
  rows: readonly Row[],
  { args, io, none }: { readonly args: CommandArgs; readonly io: CommandIo; readonly none: string },
): void {
  print(rows, { args, io, text: rows.length === 0 ? none : formatTable(rows) })
}

/** Aligns the columns of rows under their names. */
export function formatTable(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {})
  const lines = [columns, ...rows.map((row) => columns.map((column) => formatCell(row[column] ?? null)))]
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((text, index) => text.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function formatCell(value: Row[string]): string {
  if (value === null) return '-'
  return value instanceof Date ? value.toISOString() : String(value)
}

function toJsonValue(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

/**
 * Creates standard output for bytes. Writes to a file directly, because the runtime's stream does not report a full
 * disk, and to a pipe through the stream, because only the stream waits for a slow reader.
 */
export function createOutput(stream: Writable & { readonly isTTY?: boolean }, fd: number): Output {
  return {
    isTTY: stream.isTTY === true,
    async write(bytes) {
      const kind = fstatSync(fd)
      if (kind.isFIFO() || kind.isSocket()) return writeToStream(stream, bytes)
      for (let at = 0; at < bytes.length; ) at += await writeToFile(fd, bytes.subarray(at))
    },
  }
}

function writeToStream(stream: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}

function writeToFile(fd: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, null, (error, written) => (error ? reject(error) : resolve(written)))
  })
}
