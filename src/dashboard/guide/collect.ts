import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GUIDE_NAMES } from './names.ts'

/** A guide, written in Markdown beside this file. */
interface Guide {
  /** Last part of its address, and the name of its file. */
  readonly name: string
  readonly title: string
  /** HTML of its content. Links lead to addresses, not to files. */
  readonly content: string
}

/**
 * Collects all guides as HTML. For a macro: it runs when the module that calls it is compiled, so Node needs no Markdown
 * parser. Throws if a file is not listed in `GUIDE_NAMES`.
 */
export function collectGuides(): Guide[] {
  const files = readdirSync(import.meta.dir).filter((file) => file.endsWith('.md'))
  const unlisted = files.filter((file) => !GUIDE_NAMES.includes(file.slice(0, -'.md'.length)))
  if (unlisted.length > 0)
    throw new Error(`Cannot collect the guides: ${unlisted.join(', ')} not listed in GUIDE_NAMES`)
  return GUIDE_NAMES.map((name) => {
    const text = readFileSync(join(import.meta.dir, `${name}.md`), 'utf8')
    const [, title = name] = text.match(/^# (.+)$/m) ?? []
    const content = Bun.markdown.html(text, { headings: { ids: true } })
    // Make elements that scroll sideways focusable, for keyboards.
    const reachable = content.replaceAll('<pre>', '<pre tabindex="0">').replaceAll('<table>', '<table tabindex="0">')
    return { name, title, content: reachable.replace(/(<a href="[^":#]+)\.md(?=[#"])/g, '$1') }
  })
}
