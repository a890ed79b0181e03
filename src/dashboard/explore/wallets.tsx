import { shortenAddress, walletKind } from '../lib/address.ts'
import type { Catalog } from '../lib/catalog.ts'
import type { View } from '../lib/link.ts'
import { getStoredName } from '../lib/session.ts'
import { pluralize } from '../lib/time.ts'
import { useRef, useState } from '../lib/view.ts'
import { Copy } from '../part/copy.tsx'
import { DefinitionList, Usd } from '../part/figure.tsx'
import type { Context } from './page.tsx'
import { Result } from './result.tsx'
import type { Total } from './total.ts'
import { sumTotals } from './total.ts'

interface WalletsProps {
  readonly wallets: readonly string[]
  readonly apiKey: string
  readonly catalog: Catalog
  readonly view: View
  readonly setView: (view: View) => void
  readonly spent: number
}

/** The wallets of a view, one below the other. Several wallets have a common total first. */
export function Wallets({ wallets, apiKey, catalog, view, setView, spent }: WalletsProps) {
  const [totals, setTotals] = useState<Readonly<Record<string, Total>>>({})
  const paid = useRef<Context['paid']>(new Map()).current
  const pressed = useRef<Context['pressed']>(new Set()).current
  const isOne = wallets.length === 1
  const onTotal = (wallet: string) => (total: Total) => setTotals((before) => ({ ...before, [wallet]: total }))
  const createView = (wallet: string) => ({
    ...view,
    wallet,
    label: (name: string) => (isOne ? name : `${name} of ${shortenAddress(wallet)}`),
  })
  const targetCredits = wallets.reduce((sum, wallet) => sum + (totals[wallet]?.targetCredits ?? 0), 0)
  const sections = wallets.map((wallet) => {
    const context = { key: apiKey, catalog, view: createView(wallet), paid, pressed }
    const remove = () => setView({ ...view, wallets: wallets.filter((each) => each !== wallet) })
    return (
      <div class="wallet" key={wallet}>
        <Title wallet={wallet} view={view} onRemove={isOne ? undefined : remove} />
        <Result
          context={context}
          setView={setView}
          spent={isOne ? spent : undefined}
          targetCredits={targetCredits}
          onTotal={onTotal(wallet)}
        />
      </div>
    )
  })
  return (
    <>
      {!isOne && <Together wallets={wallets} totals={totals} spent={spent} isPast={view.asOf !== ''} />}
      {sections}
    </>
  )
}

interface TogetherProps {
  readonly wallets: readonly string[]
  readonly totals: Readonly<Record<string, Total>>
  readonly spent: number
  readonly isPast: boolean
}

function Together({ wallets, totals, spent, isPast }: TogetherProps) {
  const { net, isLoading, unread, partial, missing } = sumTotals(wallets.map((wallet) => totals[wallet]))
  const drawNet = (wallet: string) => {
    const total = totals[wallet]
    if (total?.net !== undefined) return <Usd value={total.net} />
    if (total === undefined || total.state === 'loading') return <span class="absent">being read</span>
    const isSolanaPast = isPast && walletKind(wallet) === 'solana'
    return <span class="absent">{isSolanaPast ? 'not shown as of a past moment' : 'not read'}</span>
  }
  return (
    <section class="summary together" aria-label="All wallets">
      <div class="total">
        <h1 class="total-name">{pluralize(wallets.length, 'wallet')}, net</h1>
        <p class="total-value">
          {net === undefined ? (
            <span class="absent">{isLoading ? 'being read' : 'not read'}</span>
          ) : (
            <Usd value={net} />
          )}
        </p>
        <p class="soft">
          <CopyLink /> {isLoading ? 'So far, ' : ''}for {pluralize(spent, 'credit')}.
          {unread > 0 && (
            <>
              {' '}
              <b class="bad">
                {pluralize(unread, 'wallet')} {unread === 1 ? 'is' : 'are'} not in it.
              </b>
            </>
          )}
          {partial > 0 && (
            <>
              {' '}
              <b class="bad">Not all of {pluralize(partial, 'wallet')} could be read.</b>
            </>
          )}
          {missing > 0 && (
            <>
              {' '}
              {pluralize(missing, 'position')} {missing === 1 ? 'is' : 'are'} not in it.
            </>
          )}
        </p>
      </div>
      <DefinitionList
        rows={wallets.map((wallet) => [
          <>
            <span class="mono">{shortenAddress(wallet)}</span> {getStoredName(wallet)}
          </>,
          drawNet(wallet),
        ])}
      />
    </section>
  )
}

function CopyLink() {
  return (
    <Copy class="small" text={location.href} label="Copy link to this view">
      Copy link
    </Copy>
  )
}

interface TitleProps {
  readonly wallet: string
  readonly view: View
  readonly onRemove: (() => void) | undefined
}

function Title({ wallet, view: { asOf }, onRemove }: TitleProps) {
  const name = (
    <>
      <span class="title-long">{wallet}</span>
      <span class="title-short" aria-hidden="true">
        {shortenAddress(wallet)}
      </span>
    </>
  )
  const ensName = getStoredName(wallet)
  return (
    <div class="title">
      {onRemove ? <h2 class="mono">{name}</h2> : <h1 class="mono">{name}</h1>}
      <Copy text={wallet} label="Copy the wallet" />
      {ensName && <span class="ens-name">{ensName}</span>}
      {onRemove ? (
        <button type="button" class="small" onClick={onRemove} aria-label={`Leave out ${shortenAddress(wallet)}`}>
          Leave out
        </button>
      ) : (
        <CopyLink />
      )}
      {asOf !== '' && <span class="badge warn">as of {asOf.replace('T', ' ').replace('Z', ' UTC')}</span>}
    </div>
  )
}
