import type { WatchableFamily } from '../../family/contract.ts'
import type { Watchable, WatchSubject } from '../../family/watch.ts'
import { toParameters, validateInput } from '../../http/request/parameters.ts'
import { CodedError } from '../../lib/error.ts'
import { compareRational } from '../../lib/number/rational.ts'
import { type Clause, defaultClear, type FinalityLevel, parseExact } from '../trigger.ts'

/* Checks a trigger's selection against what families can watch. All functions throw `CodedError`. */

/** The stored selection of a trigger. */
export interface TriggerSelection {
  readonly clause: Clause
  /** Decimal; null if the clause needs no level. */
  readonly clear: string | null
}

/** Finds a family that is served on a chain. */
export function findFamily(families: readonly WatchableFamily[], name: string, chainId: number): WatchableFamily {
  const watchable = families.find(({ family }) => family === name)
  if (watchable === undefined || watchable.chainIds.length === 0) {
    throw notConfiguredError(name)
  }
  if (!watchable.chainIds.includes(chainId)) {
    const ids = [...watchable.chainIds].sort((a, b) => a - b).join(', ')
    throw invalidParameterError('chain_id', `expected the id of a chain with ${name} (${ids}), got "${chainId}"`)
  }
  return watchable
}

/** Converts the subject of a request to the family's form. */
export function toSubject(
  { subject }: Watchable,
  chainId: number,
  fields: Readonly<Record<string, unknown>>,
): WatchSubject {
  const schema = subject(chainId)
  return validateInput(schema, toParameters(schema, fields))
}

/** Checks a clause and its clear level. `clear`: undefined for the default level. */
export function toTriggerSelection(
  watchable: Watchable & { readonly family: string },
  { when, clear }: { readonly when: Clause; readonly clear?: string | undefined },
): TriggerSelection {
  const { figures, events, family } = watchable
  if ('event' in when) {
    const unknownTypes = when.event.filter((type) => !events.includes(type))
    if (events.length === 0) throw invalidParameterError('when', `expected a figure, ${family} has no events`)
    if (unknownTypes.length > 0)
      throw invalidParameterError('when', `expected events of ${family}: ${events.join(', ')}`)
    if (clear !== undefined) throw invalidParameterError('clear', 'expected it with a threshold alone')
    return { clause: { event: [...new Set(when.event)] }, clear: null }
  }
  const kind = Object.hasOwn(figures, when.figure) ? figures[when.figure] : undefined
  if (kind === undefined)
    throw invalidParameterError('when', `expected a figure of ${family}: ${Object.keys(figures).join(', ')}`)
  if ('is' in when) {
    if (kind !== 'boolean') throw invalidParameterError('when', `expected below or above, ${when.figure} is a number`)
    if (clear !== undefined) throw invalidParameterError('clear', 'expected it with a threshold alone')
    return { clause: when, clear: null }
  }
  if (kind !== 'number') throw invalidParameterError('when', `expected is, ${when.figure} is true or false`)
  if (clear === undefined) return { clause: when, clear: defaultClear(when) }
  const isBelow = 'below' in when
  const comparison = compareRational(parseExact(clear), parseExact(isBelow ? when.below : when.above))
  if (isBelow ? comparison < 0 : comparison > 0) {
    throw invalidParameterError(
      'clear',
      `expected a level ${isBelow ? 'not below' : 'not above'} the threshold, got "${clear}"`,
    )
  }
  return { clause: when, clear }
}

/** Checks the changed selection of a trigger; undefined if neither `when` nor `clear` changes. */
export function toChangedSelection(
  { family, clause }: { readonly family: string; readonly clause: Clause },
  { when, clear }: { readonly when?: Clause | undefined; readonly clear?: string | undefined },
  families: readonly WatchableFamily[],
): TriggerSelection | undefined {
  if (when === undefined && clear === undefined) return undefined
  const watchable = families.find((each) => each.family === family)
  if (watchable === undefined) throw notConfiguredError(family)
  return toTriggerSelection(watchable, { when: when ?? clause, clear })
}

/** Throws if a trigger on events asks for several blocks in a row: an event happens in one block. */
export function checkForBlocks(clause: Clause, forBlocks: number): void {
  if ('event' in clause && forBlocks > 1) {
    throw invalidParameterError('for_blocks', 'expected 1, an event happens in one block')
  }
}

/** Throws unless the finality is `latest` on Solana, whose slots are only read once confirmed. */
export function checkFinality(finality: FinalityLevel | undefined, isSolana: boolean): void {
  if (isSolana && finality !== undefined && finality !== 'latest') {
    throw invalidParameterError('finality', 'expected "latest" on Solana, whose slots are confirmed when they are read')
  }
}

/** Throws unless the expiry lies in the future. */
export function checkExpiry(expiresAt: Date | null | undefined, nowMs: number): void {
  if (expiresAt instanceof Date && expiresAt.getTime() <= nowMs)
    throw invalidParameterError('expires_at', 'expected a time to come')
}

function notConfiguredError(name: string): CodedError {
  return new CodedError('API_ENDPOINT_NOT_CONFIGURED', `Cannot watch "${name}": no chain is configured with it`)
}

function invalidParameterError(name: string, expected: string): CodedError {
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${name}": ${expected}`)
}
