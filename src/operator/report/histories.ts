import { getAddress, isAddress } from 'viem/utils'
import type { Database } from '../../db/database.ts'
import { createCoverage } from '../../history/coverage.ts'
import type { HistoryReport } from '../report_routes.ts'

/** Creates a reader of how far histories are stored, by any process. */
export function createHistoryReports(db: Database): () => Promise<readonly HistoryReport[]> {
  // Reading takes no lease, so the holder is empty.
  const coverage = createCoverage(db, '')
  return async () =>
    (await coverage.listProgress()).map(({ target, stream, subjects, globalRanges, anchor, isStopped }) => ({
      chain_id: target.chainId,
      contract: isAddress(target.contract) ? getAddress(target.contract) : target.contract,
      stream,
      subjects,
      everybody: globalRanges.map(({ fromBlock, toBlock }) => ({ from_block: fromBlock, to_block: toBlock })),
      anchor_block: anchor ?? null,
      stopped: isStopped,
    }))
}
