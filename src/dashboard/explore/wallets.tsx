import { shortenAddress, walletKind } from '../lib/address.ts'
import type { Catalog } from '../lib/catalog.ts'
import { SOLANA_CHAIN_ID } from '../lib/catalog.ts'
import type { View } from '../lib/link.ts'
import { getStoredName } from '../lib/session.ts'
import type { PortfolioBalance, ToDo, WalletOverview } from '../lib/shapes.ts'
import { pluralize } from '../lib/time.ts'
import { useRef, useState } from '../lib/view.ts'
import { Copy } from '../part/copy.tsx'
import { Guard } from '../part/guard.tsx'
import type { Context } from './page.tsx'
import { AnswerSource } from './receipt.tsx'
import { Offer } from './requests/offer.tsx'
import { formatQuery } from './requests/plan.ts'
import type { Outcome } from './requests/polling.tsx'
import { isPending, usePolledAnswer } from './requests/polling.tsx'
import { Result } from './result.tsx'
import type { Wanted } from './rows/list.tsx'
import { RowList } from './rows/list.tsx'
import type { WalletRow } from './rows/row.ts'
import { Target } from './target.tsx'
import type { Messages } from './trigger/messages.tsx'
import { sumBalances, toWorth } from './worth/figures.ts'
import { Places } from './worth/places.tsx'
import { WorthScreen } from './worth/screen.tsx'
import { ToDoList } from './worth/to_do.tsx'

type Balance = PortfolioBalance['data']

interface WalletsProps {
  readonly wallets: readonly string[]
  readonly apiKey: string
  readonly catalog: Catalog
  readonly view: View
  readonly setView: (view: View) => void
  readonly spent: number
  readonly messages: Messages
}

const NOTHING: readonly ToDo[] = []

/** The wallets of a view: what they are worth together and what is to do first, then the positions of each. */
export function Wallets({ wallets, apiKey, catalog, view, setView, spent, messages }: WalletsProps) {
  const [credits, setCredits] = useState<Readonly<Record<string, number>>>({})
  const [balances, setBalances] = useState<Readonly<Record<string, Balance | 'failed'>>>({})
  const [rows, setRows] = useState<Readonly<Record<string, readonly WalletRow[]>>>({})
  const [, setHistories] = useState(0)
  const [wanted, setWanted] = useState<Wanted | undefined>(undefined)
  const paid = useRef<Context['paid']>(new Map()).current
  const pressed = useRef<Context['pressed']>(new Set()).current
  const isOne = wallets.length === 1
  const createView = (wallet: string) => ({
    ...view,
    wallet,
    label: (name: string) => (isOne ? name : `${name} of ${shortenAddress(wallet)}`),
  })
  const targetCredits = wallets.reduce((sum, wallet) => sum + (credits[wallet] ?? 0), 0)
  const served = wallets.filter((wallet) => isServed(wallet, catalog))
  const isTold = catalog.overview && view.asOf === '' && served.length > 0
  const query = formatQuery({ wallet: served.join(',') })
  const overview = usePolledAnswer<WalletOverview>(isTold ? `v1/wallet/overview?${query}` : undefined, apiKey, { paid })
  const worth = isTold ? readOverview(overview.answer) : readBalances(wallets, balances, view)
  const toDo = worth === undefined || worth === 'failed' ? NOTHING : (worth.now?.toDo ?? NOTHING)
  const all = wallets.flatMap((wallet) => rows[wallet] ?? [])
  const again = isTold && (
    <ReadAgain answer={overview.answer} onPress={overview.again} credits={catalog.credits.overview} />
  )
  const names = wallets.length === 1 ? 'Worth' : `${pluralize(wallets.length, 'wallet')} together`
  return (
    <>
      {isOne ? (
        <Title wallet={wallets[0] as string} view={view} onRemove={undefined} />
      ) : (
        <div class="title">
          <h1>{pluralize(wallets.length, 'wallet')}</h1>
          <CopyLink />
          {view.asOf !== '' && <PastBadge asOf={view.asOf} />}
        </div>
      )}
      <WorthScreen title={names} worth={worth} catalog={catalog} again={again} />
      <ToDoList
        toDo={toDo}
        catalog={catalog}
        areMany={!isOne}
        onShow={(each) => setWanted({ toDo: each, at: (wanted?.at ?? 0) + 1 })}
      />
      {worth !== undefined && worth !== 'failed' && worth.now && <Places now={worth.now} catalog={catalog} />}
      {overview.answer?.ok && <AnswerSource answer={overview.answer} context={{ key: apiKey, catalog }} />}
      {all.length > 0 && (
        <section class="family" aria-label="Positions">
          <div class="family-head">
            <h2>Positions and tokens</h2>
          </div>
          <Guard>
            <RowList
              rows={all}
              areMany={!isOne}
              wanted={wanted}
              aside={
                all.some(({ kind }) => kind === 'lending') && (
                  <Target view={view} credits={targetCredits} setView={setView} />
                )
              }
            />
          </Guard>
        </section>
      )}
      {wallets.map((wallet) => {
        const remove = () => setView({ ...view, wallets: wallets.filter((each) => each !== wallet) })
        return (
          <div class="wallet" key={wallet}>
            {!isOne && <Title wallet={wallet} view={view} onRemove={remove} />}
            <Result
              context={{ key: apiKey, catalog, view: createView(wallet), paid, pressed, messages }}
              setView={setView}
              spent={isOne ? spent : undefined}
              toDo={toDo}
              onRows={(own) => setRows((before) => ({ ...before, [wallet]: own }))}
              onHistories={() => setHistories((count) => count + 1)}
              onTargetCredits={(count) => setCredits((before) => ({ ...before, [wallet]: count }))}
              onBalance={(balance) => setBalances((before) => ({ ...before, [wallet]: balance }))}
            />
          </div>
        )
      })}
    </>
  )
}

/** True if this service reads wallets of the kind. */
function isServed(wallet: string, { kamino, liquidity, names }: Catalog) {
  if (walletKind(wallet) === 'evm') return [...names.keys()].some((id) => id !== SOLANA_CHAIN_ID)
  return kamino || liquidity.some(({ chains }) => chains.includes(SOLANA_CHAIN_ID))
}

function readOverview(answer: Outcome<WalletOverview>) {
  if (answer === undefined || isPending(answer)) return undefined
  return answer.ok ? toWorth(answer.body.data) : ('failed' as const)
}

/** What wallets were worth at a past moment, once each balance has come. Solana keeps no past. */
function readBalances(wallets: readonly string[], balances: Readonly<Record<string, Balance | 'failed'>>, view: View) {
  const asked = wallets.filter((wallet) => view.asOf === '' || walletKind(wallet) === 'evm')
  const answers = asked.map((wallet) => balances[wallet])
  if (answers.includes(undefined)) return undefined
  const read = answers.filter((each) => each !== undefined && each !== 'failed')
  return sumBalances(read, wallets.length - read.length)
}

interface ReadAgainProps {
  readonly answer: Outcome<WalletOverview>
  readonly onPress: () => void
  /** Of a part. */
  readonly credits: number
}

/** Button that reads the overview anew: what was read costs again, a failure cost nothing. */
function ReadAgain({ answer, onPress, credits }: ReadAgainProps) {
  if (answer === undefined) return null
  const price = answer.ok ? `about ${pluralize((answer.credits ?? 0) || credits, 'credit')}` : 'nothing was charged'
  return (
    <p class="more">
      <Offer price={price} onPress={onPress}>
        Read it again
      </Offer>
    </p>
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
      {asOf !== '' && onRemove === undefined && <PastBadge asOf={asOf} />}
    </div>
  )
}

function PastBadge({ asOf }: { asOf: string }) {
  return <span class="badge warn">as of {asOf.replace('T', ' ').replace('Z', ' UTC')}</span>
}
