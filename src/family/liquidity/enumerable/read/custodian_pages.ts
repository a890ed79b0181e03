import type { Address } from 'viem'
import { matchesBlock, type PinnedBlock } from '../../../../chain/block.ts'
import type { LensAccess } from '../../../../chain/call/lens.ts'
import { type LensPage, readPagesAt } from '../../../../chain/call/pages.ts'
import { NO_PRICE_SOURCES } from '../../../../finance/price/price_sources.ts'
import { runCooperatively } from '../../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import type { PositionHolder, RegisteredCustodians } from '../exchange.ts'
import { decodeLens, encodeList } from './abi.ts'
import type { RegisteredTarget } from './registry.ts'

/**
 * Custodians that one call asks: each takes 64 bytes, and up to 9,100 gas; nodes allow 50 million gas, and 49,152 bytes
 * of init code, in which the lens and its price sources stand too.
 */
const ASKED_MAX = { override: 2_000, deployless: 300 } as const
/** Longest answer, bytes: five for each of the rows. */
const BYTES_MAX = 100_000

interface WalletReading {
  readonly wallet: Address
  readonly lens: LensAccess
  readonly target: RegisteredTarget
  /** @default by the lens' mode */
  readonly askedMax?: number | undefined
}

/**
 * Calls `read` with the target's custodians, all of them in one call. Those of registries may be too many for that: then
 * they are asked in pages for how much they hold for the wallet, and `read` is called with those alone that hold
 * something or do not answer, at the same block. Throws as `read`, and as `readPagesAt`.
 */
export async function readByCustodianPages<Answer>(
  reading: WalletReading,
  read: (lens: LensAccess, target: RegisteredTarget) => Promise<Answer>,
): Promise<Answer> {
  const { lens, target, askedMax = ASKED_MAX[lens.mode] } = reading
  const custodians = [...(target.registered ?? [])].flatMap(([deployment, each]) =>
    each.map((custodian): PositionHolder => ({ deployment, custodian })),
  )
  if (custodians.length <= askedMax) return await read(lens, target)
  const block = await lens.pin()
  const registered = groupByDeployment(target, await findHolding(reading, { custodians, pageSize: askedMax, block }))
  return await read(pinLens(lens, block), { ...target, registered })
}

/** Finds the custodians that have something of the wallet at a block, or do not answer. */
async function findHolding(
  { wallet, lens, target }: WalletReading,
  asked: { readonly custodians: readonly PositionHolder[]; readonly pageSize: number; readonly block: PinnedBlock },
): Promise<readonly PositionHolder[]> {
  const { custodians, pageSize, block } = asked
  const managers = target.deployments.map((deployment): PositionHolder => ({ deployment, custodian: undefined }))
  const query = { wallet, offset: 0, count: 0, bytesMax: BYTES_MAX, firstMax: 0 }
  const pages = await readPagesAt<LensPage & { readonly holding: readonly PositionHolder[] }>(block, {
    pageSize,
    countMin: custodians.length,
    async read(page) {
      const some = custodians.slice(page.start, page.end)
      const data = encodeList({ holders: [...managers, ...some], prices: NO_PRICE_SOURCES, registries: [] }, query)
      const raw = await runCooperatively(decodeLens(await lens.call({ data, block: page.block })))
      const rows = raw.managers.slice(managers.length)
      if (rows.length !== some.length) throw new UpstreamError('Cannot decode the lens: custodians are missing')
      const holding = some.filter((_, index) => {
        const { balance, isAbsent } = rows[index] ?? {}
        // At a past block, what has no code yet holds nothing.
        return balance !== 0 && !(isAbsent && target.block !== undefined)
      })
      return { block: raw.block, taken: some.length, holding }
    },
    count: () => custodians.length,
  })
  if (!matchesBlock(pages[0].page.block, block)) throw new UpstreamError('The endpoint answers from another block')
  return pages.flatMap(({ page }) => page.holding)
}

/** Groups custodians; a deployment with a registry has an entry without any too, or the registry would stand for all. */
function groupByDeployment(
  { deployments }: RegisteredTarget,
  holding: readonly PositionHolder[],
): RegisteredCustodians {
  return new Map(
    deployments
      .filter(({ registry }) => registry !== undefined)
      .map((deployment) => [
        deployment,
        holding.flatMap((each) => (each.deployment === deployment && each.custodian ? [each.custodian] : [])),
      ]),
  )
}

/** A lens whose newest block is this one. */
function pinLens(lens: LensAccess, block: PinnedBlock): LensAccess {
  return {
    ...lens,
    at: block,
    pin: async () => block,
    observeBlock(seen) {
      if (!matchesBlock(seen, block)) throw new UpstreamError('The endpoint answers from another block')
      lens.observeBlock(seen)
    },
  }
}
