import { type Hex, toFunctionSelector } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { encodeCall, tryDecodeAddress } from '../../../../chain/call/words.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import type { Range } from '../../../../history/range.ts'
import type { Stream } from '../../../../history/stream.ts'
import { allOrAbort } from '../../../../lib/async/parallel.ts'
import type { Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { readWalletEvents, WALLET_EVENTS, type WalletEvent } from '../../position_history/custody_event.ts'
import { positionSubject } from '../../position_history/position_flow.ts'
import type { WalletPayments } from '../exchange.ts'
import { createStateCheck } from './state_check.ts'

/** More events of a wallet at a custodian are not read. */
export const WALLET_EVENTS_MAX = 5_000
/** How many of the positions that came last are verified. */
const VERIFIED_MAX = 8
const POSITIONS = toFunctionSelector('positions(uint256)')
/** Where liquidity and both fee counters stand in what `positions` answers: digits, behind `0x`. */
const FLOW_DIGITS = [2 + 7 * 64, 2 + 10 * 64] as const

/**
 * Creates the stream of what a custodian logs of a wallet, which is the subject. While a position is there, its counted
 * growth and what is owed to it stand still between the wallet's events: both are checked. Only a change of its liquidity,
 * which the oldest custodians offer, counts growth without an event of the wallet's.
 */
export function createWalletStream(payments: WalletPayments, clock: Clock): Stream<WalletEvent> {
  const { streamName: name, listFilters, decode, getters } = payments
  const createCheck = (getter: Hex, rows: readonly WalletEvent[]) =>
    createStateCheck({
      stream: name,
      clock,
      readRows: async () => rows,
      state: {
        encode: (tokenId) => encodeCall(getter, tokenId),
        isKnown: () => false,
        isUnchanged: (before, after) => before?.join() === after?.join(),
        isExplained: (range, { target: { chainId, contract }, client, tokenId }, work) =>
          hasFlow({ client, chainId, custodian: contract, tokenId, range }, work),
      },
    })

  /** True if the manager's words show that liquidity of a position changed within a range. */
  async function hasFlow(
    {
      client,
      chainId,
      custodian,
      tokenId,
      range,
    }: {
      readonly client: ChainClient
      readonly chainId: number
      readonly custodian: Hex
      readonly tokenId: bigint
      readonly range: Range
    },
    work: Work,
  ): Promise<boolean> {
    const past = { number: BigInt(range.fromBlock), timestampSec: 0n }
    const attempt = async (endpoint: Endpoint, within: Work) => {
      const read = async (call: { readonly to: Hex; readonly data: Hex }, number: number) => {
        const block = { chainId, number: BigInt(number) }
        return (await readMulticall(endpoint, { calls: [call], block, clock }, within)).results[0]
      }
      const to = tryDecodeAddress(await read({ to: custodian, data: getters.manager }, range.fromBlock))
      if (to === undefined) return false
      const call = { to, data: encodeCall(POSITIONS, tokenId) }
      const [before, after] = await Promise.all([read(call, range.fromBlock), read(call, range.toBlock)])
      if (before === undefined || after === undefined) return false
      return before.slice(...FLOW_DIGITS) !== after.slice(...FLOW_DIGITS)
    }
    return await client.read(attempt, { work, past })
  }

  return {
    name,
    table: WALLET_EVENTS,
    subjectsOnly: true,
    filters: ({ contract }, subjects) => listFilters(contract, subjects ?? []),
    decode: (_, logs) => ({ rows: decode(logs), unsettled: [] }),
    async verify(target, { subject, ...part }, work) {
      const { db, fromBlock, toBlock } = part
      const query = { target, stream: name, wallet: subject, fromBlock, toBlock, max: WALLET_EVENTS_MAX }
      const rows = (await readWalletEvents(db, query)) ?? []
      const stays = listStays(rows).slice(-VERIFIED_MAX)
      await allOrAbort(
        stays.flatMap(({ tokenId, fromBlock: since }) =>
          [getters.growth, getters.owed].map((getter) => async (within) => {
            const { verify } = createCheck(
              getter,
              rows.filter(({ block }) => block >= since),
            )
            await verify(target, { ...part, subject: positionSubject(tokenId), fromBlock: since }, within)
          }),
        ),
        work,
      )
    },
  }
}

/** Lists the positions that are at the custodian after these events, each with the block since when; the last came last. */
function listStays(rows: readonly WalletEvent[]): readonly { readonly tokenId: bigint; readonly fromBlock: number }[] {
  const stays = new Map<bigint, number>()
  for (const { tokenId, kind, block } of rows) {
    if (tokenId === undefined || kind === 'update') continue
    stays.delete(tokenId)
    if (kind === 'stake') stays.set(tokenId, block)
  }
  return [...stays].map(([tokenId, fromBlock]) => ({ tokenId, fromBlock }))
}
