import { type Address, encodeFunctionData, type Hex, parseAbi, zeroHash } from 'viem'
import { readMulticall } from '../../../../../src/chain/call/many/multicall.ts'
import { readBlock } from '../../../../../src/chain/evm/read_block.ts'
import {
  LENDING_EVENTS,
  type LendingEvent,
  readAllLendingEvents,
} from '../../../../../src/family/lending/lending_event.ts'
import { IncompleteError, type Stream, type StreamTarget } from '../../../../../src/history/stream.ts'
import type { Clock } from '../../../../../src/lib/clock.ts'
import { decodeLoans, loanFilters } from '../event/decode.ts'
import { sumDebts } from '../math/loan.ts'
import type { PawnshopDeployment } from '../table/deployments.ts'

const ABI = parseAbi(['function owed(address wallet, bytes32 counter, address asset) view returns (uint256)'])
const NAME = 'pawnshop_loan'

/** A shop as history follows it. */
export function toTarget(chainId: number, { shop, startBlock }: PawnshopDeployment): StreamTarget {
  return { chainId, contract: shop.toLowerCase() as Hex, startBlock }
}

/** What history follows of a shop: loans, each checked against what the shop says is owed. */
export function createLoanStream({ clock }: { readonly clock: Clock }): Stream<LendingEvent> {
  return {
    name: NAME,
    table: LENDING_EVENTS,
    filters: loanFilters,
    decode: (_, logs) => ({ rows: decodeLoans(logs), unsettled: [] }),
    async verify(place, { subject: wallet, client, db, toBlock }, work) {
      const rows = await readAllLendingEvents(db, { target: place, stream: NAME, wallet, toBlock })
      if (rows === undefined) return
      const debts = sumDebts(rows)
      const calls = debts.map(({ market, asset }) => ({
        to: place.contract as Address,
        data: encodeFunctionData({ abi: ABI, functionName: 'owed', args: [wallet, market ?? zeroHash, asset] }),
      }))
      const { chainId } = place
      const at = await client.read(
        (endpoint, within) => readBlock(endpoint, { chainId, number: BigInt(toBlock) }, within),
        { work, past: 'header' },
      )
      const { results } = await client.read(
        (endpoint, within) => readMulticall(endpoint, { calls, block: at, clock }, within),
        { work, past: at },
      )
      if (debts.some(({ owed }, index) => BigInt(results[index] ?? 0) !== owed)) {
        throw new IncompleteError('owed', { fromBlock: place.startBlock, toBlock })
      }
    },
  }
}
