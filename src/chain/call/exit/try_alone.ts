import type { Address } from 'viem'
import type { Block } from '../../block.ts'
import type { LensAccess } from '../lens.ts'
import {
  decodePage,
  decodeRun,
  EXIT_LENS,
  placeUnits,
  type Run,
  runPages,
  toCallBlock,
  type UnitOutcome,
} from './execute.ts'
import { type ExitUnit, encodeUnits } from './step.ts'

/** Units without loans, as whom they are tried, and at which block; absent: the newest one. */
interface AloneQuery {
  readonly wallet: Address
  readonly units: readonly ExitUnit[]
  readonly block?: Block | undefined
}

/** What came of each unit, in their order. */
interface AloneOutcome {
  /** Undefined if no call was needed. */
  readonly block: Block | undefined
  readonly units: readonly UnitOutcome[]
}

/**
 * Executes each unit as the wallet from the state of one block, whatever the others do, and undoes it; 25 in a call, of
 * which the first may be bundled. A unit to which the wallet itself is a party is `unsupported`, one that takes too much gas
 * alone `too_costly`. Throws `RpcRefusedError` if the endpoint does not
 * override code, `UpstreamError` if an answer is of another block.
 */
export async function tryUnitsAlone(
  { call, observeBlock }: LensAccess,
  { wallet, units, block }: AloneQuery,
): Promise<AloneOutcome> {
  const outcomes: UnitOutcome[] = units.map(() => ({ kind: 'unsupported' }))
  let at = block
  let isLight = true
  const run: Run = async (page) => {
    const request = {
      data: encodeUnits(wallet, page, 'alone'),
      block: at === undefined ? 'latest' : toCallBlock(at),
      additionalCodes: { [wallet]: EXIT_LENS.runtime },
      isLight,
    } as const
    isLight = false
    const answer = decodePage(await call(request), at)
    if (at === undefined) observeBlock(answer.block)
    at ??= answer.block
    return decodeRun(answer, page)
  }
  await runPages(placeUnits(units, wallet), run, (page, results) => {
    for (const [index, { place }] of page.entries()) outcomes[place] = results[index] ?? { kind: 'unsupported' }
  })
  return { block: at, units: outcomes }
}
