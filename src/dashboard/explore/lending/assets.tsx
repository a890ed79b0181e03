import { formatRatioAsPercent } from '../../lib/decimal.ts'
import { Amount, TokenSymbol, Usd } from '../../part/figure.tsx'
import type { Edge } from './liquidation_price.tsx'
import { LiquidationPrice } from './liquidation_price.tsx'

/** A supplied or borrowed asset, and the price of it alone at which the position is liquidated. */
export interface Asset {
  readonly symbol: string
  /** Whole tokens; absent if the answer has no amount. */
  readonly amount: string | null | undefined
  readonly usd: string | null
  readonly apy: string | null
  readonly note: string
  readonly edge?: Edge | undefined
  /** What a withdrawal pays, if that is less than the amount. */
  readonly withdrawal?: string | undefined
}

interface AssetsProps {
  readonly title: string
  readonly kind: 'supply' | 'debt'
  readonly rows: readonly Asset[]
}

export function Assets({ title, kind, rows }: AssetsProps) {
  const maxUsd = Math.max(...rows.map(({ usd }) => Number(usd)), 1e-6)
  return (
    <div class="assets">
      <h5>{title}</h5>
      {rows.length === 0 && <p class="soft">Nothing.</p>}
      <ul>
        {rows.map(({ symbol, amount, usd, apy, note, edge, withdrawal }) => (
          <li>
            <span>
              {amount && (
                <>
                  <Amount value={amount} symbol={symbol} />{' '}
                </>
              )}
              <TokenSymbol symbol={symbol} />
              {note !== '' && (
                <>
                  {' '}
                  <i>{note}</i>
                </>
              )}
            </span>
            <span>
              <Usd value={usd} />
            </span>
            <span class="soft">{apy !== null && `${formatRatioAsPercent(apy)} APY`}</span>
            {withdrawal && <p class="edge soft">{withdrawal}</p>}
            {edge && (
              <p class="edge soft">
                <LiquidationPrice symbol={symbol} at={edge} />
              </p>
            )}
            <svg class="share" viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true">
              <rect class={kind} width={(Number(usd) / maxUsd) * 100} height="3" />
            </svg>
          </li>
        ))}
      </ul>
    </div>
  )
}
