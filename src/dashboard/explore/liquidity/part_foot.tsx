import type { Liquidity } from '../../lib/catalog.ts'
import type { PositionCounts, PositionList } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { PAGE_SIZE } from '../requests/plan.ts'

/** Actions below a part. */
interface Offers {
  readonly onMore?: () => void
  readonly onClosed?: () => void
}

interface PartFootProps extends Offers {
  readonly list: PositionList
  readonly served: Liquidity
  /** Chain and family. */
  readonly name: string
}

/** End of a part: positions left out, and buttons for more positions. */
export function PartFoot({ list: { counts, pagination }, served: { credits }, name, onMore, onClosed }: PartFootProps) {
  const left = pagination.total - pagination.page * PAGE_SIZE
  return (
    <>
      <LeftOut counts={counts} />
      {onMore && left > 0 && (
        <p class="more">
          <button type="button" onClick={onMore}>
            Show {Math.min(left, PAGE_SIZE)} of {left} more on {name} <i>{pluralize(credits.open, 'credit')} each</i>
          </button>
        </p>
      )}
      {onClosed && counts.totalInactive > 0 && (
        <p class="more">
          <button type="button" onClick={onClosed}>
            Show {counts.totalInactive} closed on {name} <i>{pluralize(credits.closed, 'credit')} each</i>
          </button>
        </p>
      )}
    </>
  )
}

/** Spam, and positions that could not be decoded. */
function LeftOut({ counts: { errors, spams } }: { counts: PositionCounts }) {
  if (errors === 0 && spams.length === 0) return null
  return (
    <details class="left-out">
      <summary>
        {spams.length > 0 && <>{pluralize(spams.length, 'position')} left out as spam. </>}
        {errors > 0 && <>{pluralize(errors, 'position')} could not be decoded.</>}
      </summary>
      <ul>
        {spams.map((spam) => (
          <li>
            <b>#{spam.token_id}</b> {spam.reason}
          </li>
        ))}
      </ul>
    </details>
  )
}
