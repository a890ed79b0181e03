import { join } from 'node:path'

const RESULTS = join(import.meta.dir, 'results.md')

/** Replaces the block of a part in the record of results. Throws if it has no such block. */
export async function recordResult(part: string, printed: string): Promise<void> {
  const text = await Bun.file(RESULTS).text()
  const [opening, closing] = [`<!-- bench ${part} -->\n`, `<!-- end of ${part} -->`]
  const [start, end] = [text.indexOf(opening), text.indexOf(closing)]
  if (start < 0 || end < start) throw new Error(`Cannot put "${part}" on record: it has no block of that name`)
  await Bun.write(RESULTS, `${text.slice(0, start + opening.length)}\n${printed}${text.slice(end)}`)
}
