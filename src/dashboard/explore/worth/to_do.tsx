import { shortenAddress } from '../../lib/address.ts'
import type { Catalog } from '../../lib/catalog.ts'
import { chainName } from '../../lib/catalog.ts'
import { formatDollars } from '../../lib/decimal.ts'
import type { ToDo } from '../../lib/shapes.ts'
import { classes } from '../../lib/view.ts'

/** Things to do above the fold: with them the first screen ends within 900 pixels, also on a phone. */
const SHOWN = 3

const KINDS: Record<ToDo['kind'], readonly [mood: string, name: string]> = {
  liquidatable: ['bad', 'Can be liquidated'],
  near_liquidation: ['bad', 'Near liquidation'],
  due: ['warn', 'Due'],
  out_of_range: ['warn', 'Out of range'],
  uncollected: ['warn', 'Collect'],
  blocked: ['bad', 'Blocked'],
  unreadable: ['warn', 'Unreadable'],
}

interface ToDoListProps {
  readonly toDo: readonly ToDo[]
  readonly catalog: Catalog
  /** Whether several wallets are shown. */
  readonly areMany: boolean
  /** Leads to the row of a position. */
  readonly onShow: (toDo: ToDo) => void
}

/** What the owner may have to see to, the most urgent first; each leads to its row. */
export function ToDoList({ toDo, catalog, areMany, onShow }: ToDoListProps) {
  if (toDo.length === 0) return null
  const draw = (each: ToDo) => {
    const { kind, text, usd, wallet, chain_id } = each
    const [mood, name] = KINDS[kind]
    return (
      <li key={text}>
        <button type="button" class="to-do-line" onClick={() => onShow(each)} title={text}>
          <span class={classes('badge', mood)}>{name}</span>
          <span class="to-do-text">
            {text}
            <span class="soft">
              {' '}
              {chainName(catalog, chain_id)}
              {areMany && `, ${shortenAddress(wallet)}`}
            </span>
          </span>
          <b>{usd === null ? '' : formatDollars(usd)}</b>
        </button>
      </li>
    )
  }
  const rest = toDo.slice(SHOWN)
  return (
    <section class={classes('to-do', areMany && 'of-many')} aria-label="To do">
      <h2>To do</h2>
      <ul>{toDo.slice(0, SHOWN).map(draw)}</ul>
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          <ul>{rest.map(draw)}</ul>
        </details>
      )}
    </section>
  )
}
