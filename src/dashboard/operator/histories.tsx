import { useAnswer } from '../lib/hooks.ts'
import type { History } from '../lib/shapes.ts'
import { classes } from '../lib/view.ts'
import { EmptyState, LoadedAnswer } from '../part/notice.tsx'
import { Table, textColumn } from '../part/table.tsx'
import { BASE } from './base.ts'

const LOOK_MS = 10_000
const COLUMNS = [
  'Contract',
  'Chain',
  textColumn('Rows'),
  'Wallets or positions',
  'Global blocks',
  'Final block',
  'State',
]

/**
 * Histories of contracts: the number of wallets or positions with a history, the globally scanned blocks, and the final
 * block.
 */
export function Histories() {
  const request = useAnswer<{ data: readonly History[] }>(`${BASE}/history`, LOOK_MS)
  return (
    <LoadedAnswer request={request} waiting="Loading histories">
      {draw}
    </LoadedAnswer>
  )
}

function draw({ data: rows }: { data: readonly History[] }) {
  return (
    <section class="family" aria-label="Histories">
      <h2>Histories</h2>
      <div class="card">
        {rows.length === 0 ? (
          <EmptyState title="No history is stored">
            The first request for events or for profit and loss starts one.
          </EmptyState>
        ) : (
          <Table label="Histories" columns={COLUMNS}>
            {rows.map(drawRow)}
          </Table>
        )}
      </div>
    </section>
  )
}

function drawRow({ contract, chain_id, stream, subjects, everybody: globalRanges, anchor_block, stopped }: History) {
  const ranges = globalRanges.map(
    ({ from_block, to_block }) => `${from_block.toLocaleString('en')}–${to_block.toLocaleString('en')}`,
  )
  return (
    <tr>
      <th scope="row" class="mono">
        {contract}
      </th>
      <td>{chain_id}</td>
      <td class="words">{stream}</td>
      <td>{subjects.toLocaleString('en')}</td>
      <td>{ranges.length === 0 ? 'none' : ranges.join(', ')}</td>
      <td>{anchor_block === null ? 'none' : anchor_block.toLocaleString('en')}</td>
      <td>
        <span class={classes('badge', stopped ? 'bad' : 'good')}>{stopped ? 'stopped' : 'followed'}</span>
      </td>
    </tr>
  )
}
