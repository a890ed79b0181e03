import { shortenAddress, walletKind } from '../../lib/address.ts'
import type { Catalog, Liquidity } from '../../lib/catalog.ts'
import { formatRatioAsPercent, formatSignificant, sumDollars } from '../../lib/decimal.ts'
import { nameProtocol } from '../../lib/protocol.ts'
import type { Asset, FullPosition, Hooks, Position } from '../../lib/shapes.ts'
import { classes, useState } from '../../lib/view.ts'
import { Copy } from '../../part/copy.tsx'
import { ExplorerLink } from '../../part/explorer_link.tsx'
import { Amount, Usd } from '../../part/figure.tsx'
import type { Context } from '../page.tsx'
import type { Watched } from '../trigger/bell.tsx'
import { TriggerBell } from '../trigger/bell.tsx'
import { Bounds } from './at_bounds.tsx'
import { Holdings } from './holdings.tsx'
import { PositionProfit } from './pnl.tsx'
import { PositionHistory } from './position_history.tsx'
import { RangePicture } from './range.tsx'
import { computePriceRoom, getTicks, isFullRange } from './scale.ts'

/** What a custodian does, by its kind. */
const CUSTODIANS: Record<string, string> = {
  masterchef: 'Staked, and paid in CAKE',
  gauge: 'Staked, and paid a reward in place of its fees',
}

interface PositionCardProps {
  readonly position: Position
  readonly served: Liquidity
  readonly context: Context
  /** When the position was read. */
  readonly atSec: number
  /** What the portfolio counts of it. */
  readonly held: readonly Asset[]
}

/** A position with its range, amounts, profit and loss, and history. */
export function PositionCard({ position, served, context, atSec, held }: PositionCardProps) {
  const { position_state: state, in_range: inRange, usd, prices } = position
  const { token0, token1 } = state
  // Show the direction in which the price is above one: it is easier to read.
  // What has prices is from an answer with `full=true`.
  const full = prices && (position as FullPosition)
  const [inverse, setInverse] = useState(prices !== undefined && Number(prices.current) < 1)
  const [base, quote] = inverse ? [token1, token0] : [token0, token1]
  const [pnl, setPnl] = useState(position.pnl ?? undefined)
  const status = !position.is_active ? ['closed', 'Closed'] : inRange ? ['good', 'In range'] : ['warn', 'Out of range']
  return (
    <article class="card position" aria-label={`Position ${position.token_id}, ${token0.symbol} and ${token1.symbol}`}>
      <header>
        <h4>
          {token0.symbol} <span class="soft">/</span> {token1.symbol}
        </h4>
        <span class={classes('badge', status[0])}>{status[1]}</span>
        <p class="soft">
          {nameProtocol(state.protocol.code)} · {describePool(state.pool)}
          {state.pool.feeTier !== null &&
            state.pool.isDynamicFee &&
            (state.pool.hooks ? ' now, set by the hook' : ' now')}{' '}
          · <span title={position.token_id}>#{shortenAddress(position.token_id)}</span>
          {isContract(state.pool.id) && (
            <>
              {' '}
              ·{' '}
              <ExplorerLink catalog={context.catalog} chainId={state.chain.id} id={state.pool.id}>
                Pool
              </ExplorerLink>
            </>
          )}
        </p>
        {usd && (
          <p class="card-value">
            {position.withdrawable_error ? <span class="absent">not counted</span> : <Usd value={usd.total} />}
          </p>
        )}
      </header>
      {state.custodian && (
        <p class="soft">
          {CUSTODIANS[state.custodian.kind] ?? 'Held for its owner'} by{' '}
          <ExplorerLink
            catalog={context.catalog}
            chainId={state.chain.id}
            id={state.custodian.address}
            label="what holds it"
          >
            <span class="mono">{shortenAddress(state.custodian.address)}</span>
          </ExplorerLink>
        </p>
      )}
      {state.pool.hooks && <Hook hooks={state.pool.hooks} chainId={state.chain.id} catalog={context.catalog} />}
      {full && (
        <>
          <p class="picture-title">
            <span>
              {quote.symbol} per {base.symbol}
            </span>
            <button
              type="button"
              class="small"
              onClick={() => setInverse(!inverse)}
              aria-label={`Flip to ${base.symbol} per ${quote.symbol}`}
            >
              Flip
            </button>
          </p>
          <RangePicture position={full} inverse={inverse} />
          <Room position={position} inverse={inverse} base={base.symbol} />
          {!isFullRange(state) && <TriggerBell watched={watchRange(position, served)} context={context} />}
          <Bounds position={full} inverse={inverse} />
          <Holdings position={full} />
        </>
      )}
      {!full && (
        <p>
          Closed. {held.length > 0 && <Owed held={held} />}
          <span class="soft">
            Its range was from tick {formatSignificant(state.tickLower)} to {formatSignificant(state.tickUpper)}.
          </span>
        </p>
      )}
      <PositionProfit position={position} served={served} context={context} onFigures={setPnl} />
      <PositionHistory position={position} pnl={pnl} served={served} context={context} atSec={atSec} />
    </article>
  )
}

/** What a closed position still pays when its owner collects. */
function Owed({ held }: { held: readonly Asset[] }) {
  const values = held.flatMap(({ value_usd: usd }) => usd ?? [])
  return (
    <>
      <b>{values.length > 0 && <Usd value={sumDollars(values)} />} not collected yet: </b>
      {held.map(({ token, amount }, index) => (
        <>
          {index > 0 && ', '}
          {amount.amount === null ? amount.raw : <Amount value={amount.amount} symbol={token.symbol} />} {token.symbol}
        </>
      ))}
      .{' '}
    </>
  )
}

interface HookProps {
  readonly hooks: Hooks
  readonly chainId: number
  readonly catalog: Catalog
}

/** Hook contract of the pool, and its permissions. */
function Hook({ hooks: { address, permissions }, chainId, catalog }: HookProps) {
  return (
    <p class="soft hook">
      Hook{' '}
      <ExplorerLink catalog={catalog} chainId={chainId} id={address} label="the hook">
        <span class="mono">{shortenAddress(address)}</span>
      </ExplorerLink>{' '}
      <Copy class="small" text={address} label="Copy the hook" />
      {permissions.length === 0 ? 'without a permission' : `with ${permissions.join(', ')}`}
    </p>
  )
}

/** Returns false for a pool of Uniswap V4, which is no contract: its id is a hash. */
function isContract(id: string) {
  return walletKind(id) !== undefined
}

/** Tells pools of the same tokens apart: by the fee, or by the ticks between bounds of ranges where the pool tells no fee. */
export function describePool({ feeTier, tickSpacing }: Position['position_state']['pool']) {
  if (feeTier === null) return `tick spacing ${tickSpacing ?? 'unknown'}`
  // Hundredths of a basis point.
  const digits = feeTier.padStart(7, '0')
  return `${formatRatioAsPercent(`${digits.slice(0, -6)}.${digits.slice(-6)}`)} fee`
}

/** What a bell at a range watches. */
export function watchRange(
  { position_state: { chain, owner }, token_id, manager_address, position_address, in_range }: Position,
  { protocol }: Liquidity,
): Watched {
  return {
    chainId: chain.id,
    family: protocol,
    subject: { token_id, manager_address, wallet: owner, ...(position_address && { position_address }) },
    name: `Position #${shortenAddress(token_id)}`,
    figure: 'in_range',
    value: in_range === true,
  }
}

/** Price moves until the position leaves or enters its range. */
function Room({ position, inverse, base }: { position: Position; inverse: boolean; base: string }) {
  const { position_state: state, in_range: inRange } = position
  if (isFullRange(state)) return <p class="room soft">Earns at every price.</p>
  const ticks = getTicks({ position, inverse })
  const { down, up } = computePriceRoom(ticks)
  const share = (ratio: number) => formatRatioAsPercent(Math.abs(ratio).toFixed(6), 1)
  if (inRange)
    return (
      <p class="room soft">
        Earns until {base} falls {share(down)} or rises {share(up)}.
      </p>
    )
  return (
    <p class="room soft">
      Earns nothing until {base} {ticks.current < ticks.lower ? `rises ${share(down)}` : `falls ${share(up)}`}.
    </p>
  )
}
