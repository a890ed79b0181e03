import type { Hex } from 'viem'
import type { Database } from '../../../../../src/db/database.ts'
import type { FinanceClient } from '../../../../../src/finance/chain.ts'
import { createRowTable, hexFromBytes, toHexDigits } from '../../../../../src/history/stored_part.ts'
import type { History, Stream } from '../../../../../src/history/stream.ts'
import type { Work } from '../../../../../src/lib/async/work.ts'
import { type Appraisal, appraisalFilters, decodeAppraisals } from '../event/decode.ts'
import type { PawnshopDeployment } from '../table/deployments.ts'
import { toTarget } from './loans.ts'

/** What history follows of a shop besides its loans, in a table of the family's own. */
export const APPRAISALS: Stream<Appraisal> = {
  name: 'pawnshop_appraisal',
  table: createRowTable({
    name: 'pawn_appraisal',
    toSubject: ({ wallet }) => wallet,
    subjectColumn: 'wallet',
    columns: {
      wallet: ({ wallet }) => toHexDigits(wallet),
      block: ({ block }) => block,
      log_index: ({ logIndex }) => logIndex,
      counter: ({ counter }) => toHexDigits(counter),
      cents: ({ cents }) => cents,
      tx_hash: ({ transactionHash }) => toHexDigits(transactionHash),
    },
  }),
  filters: appraisalFilters,
  decode: (_, logs) => ({ rows: decodeAppraisals(logs), unsettled: [] }),
}

/** A wallet's appraisals, oldest first, and the block that they are all up to. Throws as `History.ensure`. */
export async function readAppraisals(
  { history, db }: { readonly history: History; readonly db: Database },
  of: { readonly client: FinanceClient; readonly deployment: PawnshopDeployment; readonly wallet: Hex },
  work: Work,
) {
  const subject = of.wallet.toLowerCase() as Hex
  const place = toTarget(of.client.chain.id, of.deployment)
  const { tail, storedTo, block } = await history.ensure({ stream: APPRAISALS, target: place, subject }, work)
  const stored = await db.run<Record<'wallet' | 'counter' | 'tx_hash', Uint8Array> & Record<string, string>>(
    `select a.* from pawn_appraisal a join history_place p on p.id = a.place
     where p.chain_id = $1 and p.contract = decode($2, 'hex') and a.wallet = decode($3, 'hex') and a.block <= $4
     order by a.block, a.log_index`,
    [place.chainId, toHexDigits(place.contract), toHexDigits(subject), storedTo],
  )
  const rows = stored.map(
    (row): Appraisal => ({
      wallet: subject,
      counter: hexFromBytes(row.counter),
      block: Number(row['block']),
      logIndex: Number(row['log_index']),
      cents: BigInt(row['cents'] ?? 0),
      transactionHash: hexFromBytes(row.tx_hash),
    }),
  )
  return { appraisals: [...rows, ...tail], block }
}
