import type { WatchableFamily } from '../../family/family.ts'
import type { Watchable, WatchSubject } from '../../family/watch.ts'
import { toParameters, validateInput } from '../../http/request/parameters.ts'
import { CodedError } from '../../lib/error.ts'
import { compareRational } from '../../lib/number/rational.ts'
import { type Clause, defaultClear, type FinalityLevel, parseExact } from '../trigger.ts'

/** Checks what a trigger is to watch against what families say can be watched. Everything throws `CodedError`. */

/** What is watched, as it is kept. */
export interface TriggerSelection {
  readonly clause: Clause
  /** Decimal; null if the clause needs no level. */
  readonly clear: string | null
}

/** The family, on a chain that is served with it. */
export function findFamily(families: readonly WatchableFamily[], name: string, chainId: number): WatchableFamily {
  const found = families.find(({ family }) => family === name)
  if (found === undefined || found.chainIds.length === 0) {
    throw notConfigured(name)
  }
  if (!found.chainIds.includes(chainId)) {
    const ids = [...found.chainIds].sort((a, b) => a - b).join(', ')
    throw invalid('chain_id', `expected the id of a chain with ${name} (${ids}), got "${chainId}"`)
  }
  return found
}

/** The subject in the family's own form. */
export function toSubject(
  { subject }: Watchable,
  chainId: number,
  given: Readonly<Record<string, unknown>>,
): WatchSubject {
  const schema = subject(chainId)
  return validateInput(schema, toParameters(schema, given))
}

/** The clause and where it is armed again. `clear`: undefined for where it usually is. */
export function toTriggerSelection(
  watchable: Watchable & { readonly family: string },
  { when, clear }: { readonly when: Clause; readonly clear?: string | undefined },
): TriggerSelection {
  const { figures, events, family } = watchable
  if ('event' in when) {
    const unknown = when.event.filter((type) => !events.includes(type))
    if (events.length === 0) throw invalid('when', `expected a figure, ${family} has no events`)
    if (unknown.length > 0) throw invalid('when', `expected events of ${family}: ${events.join(', ')}`)
    if (clear !== undefined) throw invalid('clear', 'expected it with a threshold alone')
    return { clause: { event: [...new Set(when.event)] }, clear: null }
  }
  const kind = Object.hasOwn(figures, when.figure) ? figures[when.figure] : undefined
  if (kind === undefined) throw invalid('when', `expected a figure of ${family}: ${Object.keys(figures).join(', ')}`)
  if ('is' in when) {
    if (kind !== 'boolean') throw invalid('when', `expected below or above, ${when.figure} is a number`)
    if (clear !== undefined) throw invalid('clear', 'expected it with a threshold alone')
    return { clause: when, clear: null }
  }
  if (kind !== 'number') throw invalid('when', `expected is, ${when.figure} is true or false`)
  if (clear === undefined) return { clause: when, clear: defaultClear(when) }
  const isBelow = 'below' in when
  const beyond = compareRational(parseExact(clear), parseExact(isBelow ? when.below : when.above))
  if (isBelow ? beyond < 0 : beyond > 0) {
    throw invalid('clear', `expected a level ${isBelow ? 'not below' : 'not above'} the threshold, got "${clear}"`)
  }
  return { clause: when, clear }
}

/** The same for what is changed of a trigger; undefined if neither is. */
export function toChangedSelection(
  { family, clause }: { readonly family: string; readonly clause: Clause },
  { when, clear }: { readonly when?: Clause | undefined; readonly clear?: string | undefined },
  families: readonly WatchableFamily[],
): TriggerSelection | undefined {
  if (when === undefined && clear === undefined) return undefined
  const watchable = families.find((each) => each.family === family)
  if (watchable === undefined) throw notConfigured(family)
  return toTriggerSelection(watchable, { when: when ?? clause, clear })
}

/** Blocks in a row mean nothing for what happens once. */
export function checkForBlocks(clause: Clause, forBlocks: number): void {
  if ('event' in clause && forBlocks > 1) {
    throw invalid('for_blocks', 'expected 1, an event happens in one block')
  }
}

/** Slots of Solana are read once they are confirmed, and no other way. */
export function checkFinality(finality: FinalityLevel | undefined, isSolana: boolean): void {
  if (isSolana && finality !== undefined && finality !== 'latest') {
    throw invalid('finality', 'expected "latest" on Solana, whose slots are confirmed when they are read')
  }
}

/** Throws unless a moment is to come. */
export function checkExpiry(expiresAt: Date | null | undefined, nowMs: number): void {
  if (expiresAt instanceof Date && expiresAt.getTime() <= nowMs) throw invalid('expires_at', 'expected a time to come')
}

function notConfigured(name: string): CodedError {
  return new CodedError('API_ENDPOINT_NOT_CONFIGURED', `Cannot watch "${name}": no chain is configured with it`)
}

function invalid(name: string, expected: string): CodedError {
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${name}": ${expected}`)
}
