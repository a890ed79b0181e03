import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { Glob } from 'bun'

const ROOT = join(import.meta.dir, '..')
const TOP = ['main', 'node', 'serve', 'command', 'services', 'config', 'chains_file']

/** Which rooms of `src` a room may import from. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  history: ['family', 'chain', 'db', 'lib'],
  account: ['db', 'http', 'lib', 'sql'],
  family: ['chain', 'db', 'finance', 'http', 'lib', 'sql'],
  http: ['lib'],
  db: ['lib', 'sql'],
  chain: ['lib'],
  finance: ['lib'],
  lib: [],
}

interface Import {
  readonly from: string
  readonly to: string
}

const IMPORTS: readonly Import[] = [...new Glob('src/**/*.ts').scanSync(ROOT)].flatMap((file) =>
  [...readFileSync(join(ROOT, file), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, target]) => ({
    from: file,
    to: relative(ROOT, join(ROOT, dirname(file), target ?? '')),
  })),
)

function room(file: string): string {
  const [top = '', next = ''] = file.split('/')
  return top === 'src' ? next.replace(/\.ts$/, '') : top
}

function violations(refused: (each: Import) => boolean): string[] {
  return IMPORTS.filter(refused).map(({ from, to }) => `${from} → ${to}`)
}

test('imports were found', () => {
  expect(IMPORTS.length).toBeGreaterThan(50)
})

test('rooms import only from the rooms below them', () => {
  expect(
    violations(({ from, to }) => {
      const [source, target] = [room(from), room(to)]
      return !TOP.includes(source) && source !== target && !(MAY_IMPORT[source] ?? []).includes(target)
    }),
  ).toEqual([])
})

test('a family never reaches into another', () => {
  const folder = (file: string) => file.match(/^src\/family\/([^/]+)\//)?.[1]
  expect(
    violations(({ from, to }) => {
      const [source, target] = [folder(from), folder(to)]
      return source !== undefined && target !== undefined && source !== target
    }),
  ).toEqual([])
})

test('inside a family only read touches chains, only routes touch http, and math is pure', () => {
  expect(
    violations(({ from, to }) => {
      const file = from.match(/^src\/family\/[^/]+\/([^/]+)\.ts$/)?.[1]
      if (file === undefined) return false
      if (room(to) === 'http') return file !== 'routes' && file !== 'mod'
      if (file === 'math' || file === 'present') return room(to) === 'db' || to.includes('/read')
      return false
    }),
  ).toEqual([])
})
