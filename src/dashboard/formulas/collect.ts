import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Formula of figures in answers, from the docstring of the code that computes them. */
export interface Formula {
  /** Names in answers; `kamino/amount` if the name means something else in another family. */
  readonly figures: readonly string[]
  /** The formula in words. */
  readonly text: string
  /** Source of the formula; null: the text names it, or the formula is ours. */
  readonly source: string | null
  /** Files of the tests that prove it. */
  readonly proofs: readonly string[]
  /** `src/finance/math/lending.ts healthFactor`. */
  readonly code: string
}

const SOURCES = join(import.meta.dir, '../..')
/** Folders that compute figures; Explore derives a few from the figures of answers. */
const ROOMS = ['finance', 'family', 'portfolio', 'chain', 'dashboard/explore']
/** Docstring and the declaration that it describes: a function, a result with figures, or a field of a result. */
const DESCRIBED =
  /\/\*\*((?:(?!\*\/)[\s\S])*?)\*\/\s*((?:export )?(?:async )?function|(?:export )?interface|readonly) (\w+)/g

/**
 * Collects all formulas, by file. For a macro: it runs when the module that calls it is compiled, so it matches the compiled
 * code. Throws on a docstring without a proof.
 */
export function collectFormulas(): Formula[] {
  const files = ROOMS.flatMap((room) =>
    readdirSync(join(SOURCES, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => `${room}/${path}`),
  )
  return files.sort().flatMap((path) => parseFormulas(`src/${path}`, readFileSync(join(SOURCES, path), 'utf8')))
}

/** Parses the formulas of a file. A field without a proof inherits that of its result. */
function parseFormulas(path: string, text: string): Formula[] {
  let resultProof: string | undefined
  return [...text.matchAll(DESCRIBED)].flatMap(([, doc = '', what = '', name = '']) => {
    const { text, figure, source = null, ...tags } = parseTags(doc)
    if (what !== 'readonly') resultProof = tags.proof
    if (figure === undefined) return []
    const proof = tags.proof ?? resultProof
    const code = `${path} ${name}`
    if (proof === undefined) throw new Error(`Cannot collect the formula of ${code}: it names no proof`)
    return [{ figures: splitNames(figure), text, source, proofs: splitNames(proof), code }]
  })
}

function parseTags(doc: string) {
  const lines = doc.split('\n').map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
  const [text = '', ...parts] = lines
    .join('\n')
    .trim()
    .split(/\s@(?=(?:figure|source|proof) )/)
    .map((part) => part.replaceAll('\n', ' ').trim())
  const tag = (name: string) => parts.find((each) => each.startsWith(`${name} `))?.slice(name.length + 1)
  return { text, figure: tag('figure'), source: tag('source'), proof: tag('proof') }
}

function splitNames(names: string): string[] {
  return names.split(',').map((each) => each.trim())
}
