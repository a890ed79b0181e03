import { join } from 'node:path'

const GUIDE = join(import.meta.dir, '../../src/dashboard/guide/measured.md')

/** Replaces the block of a part in the guide of what was measured. Throws if the guide has no such block. */
export async function putIntoGuide(part: string, printed: string): Promise<void> {
  const text = await Bun.file(GUIDE).text()
  const [opening, closing] = [`<!-- bench ${part} -->\n`, `<!-- end of ${part} -->`]
  const [start, end] = [text.indexOf(opening), text.indexOf(closing)]
  if (start < 0 || end < start) throw new Error(`Cannot put "${part}" into the guide: it has no block of that name`)
  await Bun.write(GUIDE, `${text.slice(0, start + opening.length)}\n${printed}${text.slice(end)}`)
}
