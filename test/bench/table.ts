/** Middle value; the mean of the two middle ones of an even number. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return mean(sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1))
}

/** Arithmetic mean. NaN of none. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** What was printed since `takePrinted` was called last. */
let printed = ''

/** Prints a paragraph of Markdown. */
export function printNote(text: string): void {
  console.log(`${text}\n`)
  printed += `${text}\n\n`
}

/** Prints a table of Markdown, its columns aligned to the right. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padStart(widths[column] ?? 0)).join(' | ')} |`
  printNote(
    [line(head), `|${widths.map((width) => `${'-'.repeat(width + 1)}:`).join('|')}|`, ...rows.map(line)].join('\n'),
  )
}

/** All that was printed since the last call. */
export function takePrinted(): string {
  const text = printed
  printed = ''
  return text
}
