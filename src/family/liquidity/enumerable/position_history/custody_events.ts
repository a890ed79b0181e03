import { zeroAddress } from 'viem'
import { toLowerHex } from '../../../../chain/call/words.ts'
import type { Database } from '../../../../db/database.ts'
import type { History } from '../../../../history/stream.ts'
import { allOrAbort } from '../../../../lib/async/parallel.ts'
import { noteUnwitnessed, type Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../../../lib/error.ts'
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

type CustodyQuery = ManagedHistoryQuery<EnumerableDeployment, Pick<Position, 'pool'>>

/**
 * Creates a reader of what custodians logged of a position from a block on; undefined where they are not known, since
 * only a registry lists them and the position is burned.
 */
export function createCustodyEventsReader(
  { custodyLog, locateCustodian }: Pick<EnumerableExchange, 'custodyLog' | 'locateCustodian'>,
  services: { readonly db: Database; readonly history: History; readonly clock: Clock },
) {
  const { db, history, clock } = services
  const stream = custodyLog && createCustodyStream(custodyLog, clock)
  const readPayments = custodyLog?.payments && createPaymentsReader(custodyLog.payments, services)

  /** Lists what may have held it: a pool that has a custodian has the same one always. Undefined if its pool is not known. */
  function listCustodians({ deployment, position }: CustodyQuery): readonly Custodian[] | undefined {
    const { custodians = [], registry } = deployment
    if (registry === undefined) return custodians
    const words = position?.pool.words
    const located = words && locateCustodian?.(registry, words)
    return located && [...custodians, ...(located.address === zeroAddress ? [] : [located])]
  }

  return async (query: CustodyQuery, startBlock: number, work: Work): Promise<CustodyRead | undefined> => {
    const { client, deployment, tokenId, block, pendingTip } = query
    const custodians = listCustodians(query)
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
