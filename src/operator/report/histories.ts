import { getAddress, isAddress } from 'viem/utils'
import type { Database } from '../../db/database.ts'
import { createCoverage } from '../../history/coverage.ts'
import type { HistoryReport } from '../admin/report_routes.ts'

/** Reads how far histories are stored, by whichever process. */
export function createHistoryReports(db: Database): () => Promise<readonly HistoryReport[]> {
  // Nothing is leased here, so no process needs to be named.
  const coverage = createCoverage(db, '')
  return async () =>
    (await coverage.progress()).map(({ place, stream, subjects, everybody, anchor, isStopped }) => ({
      chain_id: place.chainId,
      contract: isAddress(place.contract) ? getAddress(place.contract) : place.contract,
      stream,
      subjects,
      everybody: everybody.map(({ fromBlock, toBlock }) => ({ from_block: fromBlock, to_block: toBlock })),
      anchor_block: anchor ?? null,
      stopped: isStopped,
    }))
}
