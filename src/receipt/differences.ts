import { parseChainsFile, toServedChain } from '../config/chains_file.ts'
import { FAMILIES } from '../family/mod.ts'
import { FINANCE_CHAINS } from '../finance/chain.ts'
import { isJsonObject } from '../lib/text/json.ts'
import type { Payload } from './payload.ts'
import { toReceiptSettings } from './settings.ts'
import { configureSubject, findSubject } from './subject.ts'

/** Maximum lines of a report. */
const LINES_MAX = 200

/**
 * Lists the settings of a receipt that differ from the built-in rows, or from a `CHAINS_FILE` over them, one per line.
 * A reader should check them, because a chosen price feed is the cheapest way to falsify a figure.
 */
export function listDifferences(payload: Payload, chainsFile?: string): readonly string[] {
  const { settings, family: stated } = payload
  const definition = findSubject(stated.name)
  if (definition === undefined) return []
  const { rows, mistakes } =
    chainsFile === undefined ? { rows: [], mistakes: [] } : parseChainsFile(chainsFile, FAMILIES)
  if (mistakes.length > 0) return mistakes
  const { subject } = configureSubject(definition, new Map(rows.map((row) => [row.id, row])))
  const lines = settings.chains.flatMap((theirs) => {
    const builtIn = FINANCE_CHAINS.find(({ id }) => id === theirs['id'])
    const row = rows.find(({ id }) => id === theirs['id'])
    const chain = row === undefined ? builtIn : toServedChain(row, builtIn)
    const name = `chain ${String(theirs['id'])}`
    if (chain === undefined) return [`${name}: none is built in`]
    // Without prices in the receipt, no price decided a figure.
    const [ours = {}] = toReceiptSettings(subject, [chain], { prices: 'prices' in theirs }).chains
    return listLines(name, { theirs: toJson(theirs), ours: toJson(ours) })
  })
  return lines.length > LINES_MAX ? [...lines.slice(0, LINES_MAX), `and ${lines.length - LINES_MAX} more`] : lines
}

/** Converts a value to its JSON form. */
function toJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

function listLines(name: string, { theirs, ours }: { readonly theirs: unknown; readonly ours: unknown }): string[] {
  if (JSON.stringify(theirs) === JSON.stringify(ours)) return []
  if (isJsonObject(theirs) && isJsonObject(ours)) {
    const keys = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])]
    return keys.flatMap((key) => listLines(`${name}.${key}`, { theirs: theirs[key], ours: ours[key] }))
  }
  return [`${name}: ${formatValue(theirs)}, built in ${formatValue(ours)}`]
}

function formatValue(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
