import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'
import { type ContractCall, type ReturnData, readMulticall } from '../chain/call/many/multicall.ts'
import { tryDecodeAddress } from '../chain/call/words.ts'
import { QUORUM, readByQuorum } from '../chain/past/quorum.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'

/** Call data of a function that no contract has. */
const UNKNOWN_FUNCTION: Hex = '0xffffffff'

/** What a deployment has once it stands whole: code, and parts that were registered after it was made. */
export interface StandingProbe {
  readonly contract: Address
  /** Call data of its getters of these parts, which return an address other than zero. */
  readonly getters: readonly Hex[]
}

/**
 * Reads which contracts stand whole at a block, in a call as figures are read, so that receipts hold it. Two endpoints
 * must agree: what is not there leaves a sum without a word. Where there is only one, its word counts, as for every
 * figure of the block. Throws `ChainUnavailableError` (disputed) if endpoints contradict each other, else as
 * `readByQuorum`.
 */
export async function readStanding(
  {
    client,
    probes,
    block,
    clock,
    ...reading
  }: {
    readonly client: ChainClient
    readonly probes: readonly StandingProbe[]
    readonly block: PinnedBlock
    readonly clock: Clock
    /** @default {2} */
    readonly quorum?: number
    readonly priority?: 'background'
  },
  work: Work,
): Promise<{ readonly standing: ReadonlySet<Address>; readonly isAgreed: boolean }> {
  if (probes.length === 0) return { standing: new Set(), isAgreed: false }
  const calls = probes.flatMap(toCalls)
  const { value, endpoints } = await readByQuorum(
    client,
    async (endpoint, within) => {
      const { results } = await readMulticall(endpoint, { calls, block, isLight: true, clock }, within)
      const rest = [...results]
      return probes.flatMap((probe) => (isWhole(rest.splice(0, toCalls(probe).length)) ? probe.contract : []))
    },
    {
      ...reading,
      work,
      past: block,
      // One call holds this one and the one that examines the endpoint's state.
      isBundled: true,
      what: `which contracts exist at block ${block.number}`,
      toText: (found) => found.join(),
    },
  )
  return { standing: new Set(value), isAgreed: endpoints.length >= QUORUM }
}

function toCalls({ contract, getters }: StandingProbe): ContractCall[] {
  return [UNKNOWN_FUNCTION, ...getters].map((data) => ({ to: contract, data }))
}

/** True if the contract refuses the unknown function and names its parts; an address without code answers nothing. */
function isWhole([code, ...parts]: readonly ReturnData[]): boolean {
  return code !== '0x' && parts.every((part) => BigInt(tryDecodeAddress(part) ?? 0) !== 0n)
}
