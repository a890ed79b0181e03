import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** How figures of answers are calculated, as the docstring of the code that does it says. */
export interface Formula {
  /** Names in answers; `kamino/amount` if the name means something else in another family. */
  readonly figures: readonly string[]
  /** The formula in words. */
  readonly text: string
  /** Whose formula it is; absent: the text names it, or it is ours. */
  readonly source: string | null
  /** Files of the tests that prove it. */
  readonly proofs: readonly string[]
  /** `src/finance/math/lending.ts healthFactor`. */
  readonly code: string
}

const SOURCES = join(import.meta.dir, '../..')
/** Rooms that calculate figures. */
const ROOMS = ['finance', 'family', 'chain']
/** A docstring and the name of what it describes: a function, or a field of a result. */
const DESCRIBED =
  /\/\*\*((?:(?!\*\/)[\s\S])*?@figure(?:(?!\*\/)[\s\S])*?)\*\/\s*(?:export (?:async )?function|readonly) (\w+)/g

/**
 * All formulas, by file. For a macro: it runs when the module that calls it is compiled, and so says what the code of
 * that moment says. Throws on a docstring without a proof.
 */
export function collectFormulas(): Formula[] {
  const files = ROOMS.flatMap((room) =>
    readdirSync(join(SOURCES, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => `${room}/${path}`),
  )
  return files.sort().flatMap((path) => {
    const text = readFileSync(join(SOURCES, path), 'utf8')
    return [...text.matchAll(DESCRIBED)].map(([, doc = '', name = '']) => formulaOf(doc, `src/${path} ${name}`))
  })
}

function formulaOf(doc: string, code: string): Formula {
  const lines = doc.split('\n').map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
  const parts = lines.join('\n').trim().split(/\n@/)
  const [text = '', ...tags] = parts.map((part) => part.replaceAll('\n', ' ').trim())
  const tag = (name: string) => tags.find((each) => each.startsWith(`${name} `))?.slice(name.length + 1)
  const listed = (name: string) => (tag(name) ?? '').split(',').map((each) => each.trim())
  if (tag('proof') === undefined) throw new Error(`Cannot collect the formula of ${code}: it names no proof`)
  return { figures: listed('figure'), text, source: tag('source') ?? null, proofs: listed('proof'), code }
}
