import { BASE58_ADDRESS, shortenAddress } from '../../lib/address.ts'
import type { Catalog } from '../../lib/catalog.ts'
import { SOLANA_CHAIN_ID } from '../../lib/catalog.ts'
import type { View } from '../../lib/link.ts'
import type { AaveV3Calculations, KaminoList, KaminoPosition } from '../../lib/shapes.ts'
import { Copy } from '../../part/copy.tsx'
import { ExplorerLink } from '../../part/explorer_link.tsx'
import { AddForm } from '../form.tsx'
import type { Context } from '../page.tsx'
import type { RequestedPart } from '../requests/answers.ts'
import type { Watched } from '../trigger/bell.tsx'
import { TriggerBell } from '../trigger/bell.tsx'
import { LendingCard } from './card.tsx'
import { KaminoCard } from './kamino_card.tsx'
import { kaminoLegs } from './legs.ts'

const SIDES = 'Of an obligation each side moves as a whole; debt is counted as Kamino weighs it, by borrow factors.'

interface KaminoPositionCardProps {
  readonly position: KaminoPosition
  readonly figures: AaveV3Calculations
  readonly wallet: string
  readonly context: Context
}

/** An obligation that the service found for the wallet. */
export function KaminoPositionCard({ position, figures, wallet, context }: KaminoPositionCardProps) {
  const { obligation_address: id, marketKnown } = position
  return (
    <LendingCard
      label={`Kamino, obligation ${id}`}
      family="Kamino"
      place={`${nameMarket(position)}${marketKnown ? '' : ' (in no table, in no sum)'}`}
      note={<Address id={id} catalog={context.catalog} />}
      bell={<TriggerBell watched={watchKamino(position, wallet)} context={context} />}
      position={position}
      figures={figures}
      legs={kaminoLegs(position, figures)}
      whatIfNote={SIDES}
    />
  )
}

/** Names the market of an obligation. */
export function nameMarket({ marketName, marketId }: KaminoPosition) {
  return marketName || shortenAddress(marketId)
}

/** What a bell at an obligation watches. */
export function watchKamino(
  { obligation_address: obligation, marketId, healthFactor }: KaminoPosition,
  wallet: string,
): Watched {
  return {
    chainId: SOLANA_CHAIN_ID,
    family: 'kamino',
    subject: { wallet, obligation_address: obligation, market_address: marketId },
    name: `Kamino, obligation ${shortenAddress(obligation)}`,
    figure: 'health_factor',
    value: healthFactor,
  }
}

function Address({ id, catalog }: { id: string; catalog: Catalog }) {
  return (
    <p class="soft">
      <ExplorerLink catalog={catalog} chainId={SOLANA_CHAIN_ID} id={id} label="the obligation">
        <code title={id}>{shortenAddress(id)}</code>
      </ExplorerLink>
      <Copy text={id} label="Copy the whole id" />
    </p>
  )
}

const SOLANA_ADDRESS = 'a Solana address, 32 to 44 base58 characters.'

interface KaminoAddedProps {
  readonly lists: readonly RequestedPart[]
  readonly parts: readonly RequestedPart[]
  readonly context: Context
  readonly setView: (view: View) => void
}

/** Obligations added by the reader, shown if the service cannot find all: those of the link, and a form to add more. */
export function KaminoAdded({ lists, parts, context, setView }: KaminoAddedProps) {
  const { view, catalog } = context
  const bodies = lists.flatMap(({ answer }) => (answer?.ok ? [answer.body as KaminoList] : []))
  const markets = bodies.find(({ coverage }) => !coverage.complete)?.coverage.markets
  if (markets === undefined && view.kamino.length === 0) return null
  return (
    <section class="family" aria-label={view.label('Kamino, added')}>
      <div class="stack">
        {view.kamino.map((pair) => {
          const ownParts = parts.filter(({ id }) => id === pair.split(':')[0])
          return (
            <KaminoCard
              key={pair}
              parts={ownParts}
              context={context}
              onRemove={() => setView({ ...view, kamino: view.kamino.filter((each) => each !== pair) })}
            />
          )
        })}
        {markets !== undefined && (
          <AddForm
            title="Kamino: add an obligation"
            credits={catalog.credits.kamino}
            intro={`No endpoint of this service searches Kamino's accounts: usual obligations in ${markets} markets were looked for, and others may be missing. Add those that you know of; the link keeps them.`}
            fields={[
              {
                name: 'obligation',
                label: 'Obligation',
                form: BASE58_ADDRESS,
                fault: `An obligation is ${SOLANA_ADDRESS}`,
              },
              { name: 'market', label: 'Market', form: BASE58_ADDRESS, fault: `A market is ${SOLANA_ADDRESS}` },
            ]}
            onAdd={({ obligation, market }: Record<string, string>) =>
              setView({ ...view, kamino: [...view.kamino, `${obligation}:${market}`] })
            }
          />
        )}
      </div>
    </section>
  )
}
