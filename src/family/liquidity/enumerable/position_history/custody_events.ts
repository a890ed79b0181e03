import { type Address, type Hex, zeroAddress } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { toLowerHex, tryDecodeAddress } from '../../../../chain/call/words.ts'
import { readLatestBlock } from '../../../../chain/evm/read_block.ts'
import { getCacheTtlMs, noteWitnesses, readByQuorum } from '../../../../chain/past/quorum.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import type { History } from '../../../../history/stream.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import { allOrAbort } from '../../../../lib/async/parallel.ts'
import { noteUnwitnessed, type Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { PendingError, UnavailableError, UpstreamError } from '../../../../lib/error.ts'
import type { ManagedHistoryQuery } from '../../histories.ts'
import { readCustodyEvents } from '../../position_history/custody_event.ts'
import type { CustodyRead } from '../../position_history/custody_mark.ts'
import { positionSubject } from '../../position_history/position_flow.ts'
import type { Custodian } from '../../protocol.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import type { Position } from '../read/position.ts'
import { createCustodyStream } from './custody_stream.ts'
import { createPaymentsReader } from './payments.ts'

/** More events at a custodian than any known position has. */
const EVENTS_MAX = 5_000
/** The end of what never happens. */
const FOREVER = Number.MAX_SAFE_INTEGER

/** Pools whose custodian is kept. */
const POOLS_MAX = 10_000

/** A position; `pool`: that of a burned one. */
type CustodyQuery = ManagedHistoryQuery<EnumerableDeployment, Pick<Position, 'pool'>> & { readonly pool?: Address }

/**
 * Creates a reader of what custodians logged of a position from a block on; undefined where they are not known, since
 * only a registry lists them and the pool of a burned position is not given.
 */
export function createCustodyEventsReader(
  exchange: Pick<EnumerableExchange, 'custodyLog' | 'locateCustodian' | 'custodianGetter'>,
  services: { readonly db: Database; readonly history: History; readonly clock: Clock },
) {
  const { db, history, clock } = services
  const { custodyLog, locateCustodian, custodianGetter } = exchange
  const located = createCache<Address>({ clock, entriesMax: POOLS_MAX })
  const stream = custodyLog && createCustodyStream(custodyLog, clock)
  const readPayments = custodyLog?.payments && createPaymentsReader(custodyLog.payments, services)

  /** Reads the custodian of a pool, on which endpoints agree; it is kept once there is one. */
  function readCustodian(client: ChainClient, pool: Address, data: Hex, work: Work): Promise<Address> {
    const read = async (shared: Work) => {
      const attempt = async (endpoint: Endpoint, within: Work): Promise<Address> => {
        const block = await readLatestBlock(endpoint, client.chain.id, within)
        const { results } = await readMulticall(endpoint, { calls: [{ to: pool, data }], block, clock }, within)
        const custodian = tryDecodeAddress(results[0])
        if (custodian === undefined) throw new UpstreamError(`Pool ${pool} does not tell what holds its positions`)
        return custodian
      }
      const options = { work: shared, what: `what holds positions of pool ${pool}`, toText: String }
      const { value, endpoints } = await readByQuorum(client, attempt, options)
      noteWitnesses(client, endpoints.length, shared)
      return { value, lifeMs: value === zeroAddress ? 0 : getCacheTtlMs(client, endpoints.length) }
    }
    return located.get({ key: `${client.chain.id}:${pool}`, read }, work)
  }

  /** Lists what may have held it: a pool that has a custodian has the same one always. Undefined if its pool is not known. */
  async function listCustodians(query: CustodyQuery, work: Work): Promise<readonly Custodian[] | undefined> {
    const { client, deployment, position, pool } = query
    const { custodians = [], registry } = deployment
    if (registry === undefined) return custodians
    const words = position?.pool.words
    const custodian =
      pool !== undefined && custodianGetter !== undefined
        ? { ...registry, address: await readCustodian(client, pool, custodianGetter, work) }
        : words && locateCustodian?.(registry, words)
    return custodian && [...custodians, ...(custodian.address === zeroAddress ? [] : [custodian])]
  }

  return async (query: CustodyQuery, startBlock: number, work: Work): Promise<CustodyRead | undefined> => {
    const { client, deployment, tokenId, block, pendingTip } = query
    const custodians = await listCustodians(query, work)
    if (custodians?.length === 0) return { events: [], finalTo: FOREVER, end: FOREVER }
    if (stream === undefined || custodians === undefined) return undefined
    const readFrom = async (custodian: Custodian, within: Work): Promise<CustodyRead> => {
      const target = {
        chainId: client.chain.id,
        contract: toLowerHex(custodian.address),
        startBlock: custodian.startBlock,
      }
      const fromBlock = Math.max(startBlock, custodian.startBlock)
      if (block !== undefined && block < fromBlock) return { events: [], finalTo: FOREVER, end: FOREVER }
      const subject = positionSubject(tokenId)
      const request = { stream, target, subject, startBlock: fromBlock, upTo: block, pendingTip }
      const { storedTo, tail, isAgreed, block: end } = await history.ensure(request, within)
      if (!isAgreed) noteUnwitnessed(within, [client.chain.id])
      const part = { target, stream: stream.name, tokenId, fromBlock, toBlock: storedTo, max: EVENTS_MAX + 1 }
      const stored = storedTo < fromBlock ? [] : await readCustodyEvents(db, part)
      if (stored === undefined) throw new PendingError(`What holds position ${tokenId} is not stored yet`)
      const events = [...stored, ...tail].map((event) => ({ ...event, custodian }))
      if (events.length > EVENTS_MAX)
        throw new UnavailableError(`Position ${tokenId} has more than ${EVENTS_MAX} events at a custodian`)
      const read = { events, finalTo: storedTo, end: Number(end.number) }
      if (readPayments === undefined) return read
      const known = events.filter((event) => block === undefined || event.block <= block)
      const position = { client, manager: deployment.manager, custodian, tokenId, block, ...read, events: known }
      const { events: paid, ...bounds } = await readPayments(position, within)
      return { ...bounds, events: [...events, ...paid.map((event) => ({ ...event, custodian }))] }
    }
    const reads = await allOrAbort(
      custodians.map((custodian) => (within: Work) => readFrom(custodian, within)),
      work,
    )
    const events = reads.flatMap((read) => read.events).sort((a, b) => a.block - b.block || a.logIndex - b.logIndex)
    return {
      events,
      unpaid: reads.find(({ unpaid }) => unpaid !== undefined)?.unpaid,
      finalTo: Math.min(...reads.map(({ finalTo }) => finalTo)),
      end: Math.min(...reads.map(({ end }) => end)),
    }
  }
}
