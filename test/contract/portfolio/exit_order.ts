import type { UnitOutcome } from '../../../src/chain/call/exit/execute.ts'
import type { ExitUnit, StepOutcome } from '../../../src/chain/call/exit/step.ts'
import type { HoldingExit, HoldingStep } from '../../../src/family/exit.ts'
import type { Random } from '../../devnet/random.ts'

/** A step with its fallbacks, which no other step comes between. */
export interface Block {
  readonly unit: number
  /** Places among the steps of the unit. */
  readonly places: readonly number[]
  readonly kind: HoldingStep['kind']
}

/** Which block must come before which. */
type Rule = (earlier: Block, later: Block) => boolean

/** Splits units into steps with their fallbacks. */
export function listBlocks(units: readonly HoldingExit[]): Block[] {
  return units.flatMap(({ steps }, unit) => {
    const blocks: { unit: number; places: number[]; kind: HoldingStep['kind'] }[] = []
    for (const [place, { isFallback, kind }] of steps.entries()) {
      const last = blocks.at(-1)
      if (isFallback && last !== undefined) last.places.push(place)
      else blocks.push({ unit, places: [place], kind })
    }
    return blocks
  })
}

/**
 * What orders must keep: an account's debts are repaid before anything of it is withdrawn, and a position is emptied before
 * it is collected. Units in `bound` have a debt that is not repaid, so that what is withdrawn first decides what the rest may be.
 */
export function createRule(bound: ReadonlySet<number>): Rule {
  return (earlier, later) => {
    if (earlier.unit !== later.unit) return false
    const isBefore = (earlier.places[0] ?? 0) < (later.places[0] ?? 0)
    if (earlier.kind === 'liquidity') return isBefore
    if (earlier.kind !== later.kind) return earlier.kind === 'borrowed'
    return bound.has(earlier.unit) && isBefore
  }
}

/** Draws one of all orders that a rule permits. */
export function drawOrder(blocks: readonly Block[], { rule, random }: { rule: Rule; random: Random }): Block[] {
  const left = [...blocks]
  const order: Block[] = []
  while (left.length > 0) {
    const free = left.filter((each) => left.every((other) => other === each || !rule(other, each)))
    const next = random.pick(free)
    left.splice(left.indexOf(next), 1)
    order.push(next)
  }
  return order
}

/** Tells whether an order breaks a rule. */
export function breaksRule(order: readonly Block[], rule: Rule): boolean {
  return order.some((later, index) => order.slice(index + 1).some((earlier) => rule(earlier, later)))
}

/** One unit of the steps of all, in an order. */
export function mergeUnits(units: readonly HoldingExit[], order: readonly Block[]): ExitUnit {
  return {
    steps: order.flatMap(({ unit, places }) => places.flatMap((place) => units[unit]?.steps[place] ?? [])),
    parties: units.flatMap(({ parties = [] }) => parties),
    suspects: units.flatMap(({ suspects = [] }) => suspects),
  }
}

/** What arrives by unit and token, less what was lent, and how many of its debts are not repaid. */
export function sumOutcome(
  units: readonly HoldingExit[],
  order: readonly Block[],
  outcome: UnitOutcome,
): { readonly arrived: ReadonlyMap<string, bigint>; readonly bound: ReadonlySet<number> } {
  if (outcome.kind !== 'run') throw new Error(`Expected an outcome of all steps, got ${outcome.kind}`)
  const results = [...outcome.steps]
  const arrived = new Map<string, bigint>()
  const bound = new Set<number>()
  for (const { unit, places, kind } of order) {
    const own: StepOutcome[] = results.splice(0, places.length)
    if (kind === 'borrowed' && own.every((each) => each.kind !== 'done')) bound.add(unit)
    for (const [index, result] of own.entries()) {
      if (result.kind !== 'done') continue
      const tokens = units[unit]?.steps[places[index] ?? 0]?.tokens ?? []
      for (const [at, token] of tokens.entries()) {
        const key = `${unit} ${token}`
        arrived.set(
          key,
          (arrived.get(key) ?? 0n) + (result.deltas[at] ?? 0n) - (at === 0 ? (result.lent?.amount ?? 0n) : 0n),
        )
      }
    }
  }
  return { arrived, bound }
}
