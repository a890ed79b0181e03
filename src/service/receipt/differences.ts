import { FAMILIES } from '../../family/mod.ts'
import { FINANCE_CHAINS } from '../../finance/chain.ts'
import { chainFromRow, parseChainsFile } from '../config/chains_file.ts'
import type { Payload } from './payload.ts'
import { toReceiptSettings } from './settings.ts'

/** Most lines of a report. */
const LINES_MAX = 200

/**
 * What settings of a receipt say otherwise than the built-in rows, or than a `CHAINS_FILE` laid over them, a line each.
 * Choosing a price feed is the cheapest way to lie: whoever reads a figure should look at these.
 */
export function listDifferences(payload: Payload, chainsFile?: string): readonly string[] {
  const { settings, family: stated } = payload
  const known = FAMILIES.find(({ name }) => name === stated.name)
  if (known === undefined) return []
  const { rows, mistakes } =
    chainsFile === undefined ? { rows: [], mistakes: [] } : parseChainsFile(chainsFile, FAMILIES)
  if (mistakes.length > 0) return mistakes
  const family = known.configure(new Map(rows.map((row) => [row.id, row])))
  const lines = settings.chains.flatMap((theirs) => {
    const builtIn = FINANCE_CHAINS.find(({ id }) => id === theirs['id'])
    const row = rows.find(({ id }) => id === theirs['id'])
    const chain = row === undefined ? builtIn : chainFromRow(row, builtIn)
    const name = `chain ${String(theirs['id'])}`
    if (chain === undefined) return [`${name}: none is built in`]
    // Without prices none decided a figure.
    const [ours = {}] = toReceiptSettings(family, [chain], { prices: 'prices' in theirs }).chains
    return linesOf(name, { theirs: plain(theirs), ours: plain(ours) })
  })
  return lines.length > LINES_MAX ? [...lines.slice(0, LINES_MAX), `and ${lines.length - LINES_MAX} more`] : lines
}

/** As JSON has it. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

function linesOf(name: string, { theirs, ours }: { readonly theirs: unknown; readonly ours: unknown }): string[] {
  if (JSON.stringify(theirs) === JSON.stringify(ours)) return []
  if (isRecord(theirs) && isRecord(ours)) {
    const keys = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])]
    return keys.flatMap((key) => linesOf(`${name}.${key}`, { theirs: theirs[key], ours: ours[key] }))
  }
  return [`${name}: ${textOf(theirs)}, built in ${textOf(ours)}`]
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
