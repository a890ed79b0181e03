/** View in a link. The fragment holds it, which browsers send to no server; the key is never part of it. */
export interface View {
  readonly wallets: readonly string[]
  /** ISO time, or empty for now. */
  readonly asOf: string
  /** Health factor that the safe amounts keep. */
  readonly target: string
  /** `obligation:market`. */
  readonly kamino: readonly string[]
}

const TARGET_DEFAULT = '1.5'
const LIST_MAX = 20
/** Wallets of one view at most. */
export const WALLETS_MAX = 5

/** Returns one spelling of a wallet, to compare wallets: the digits of EVM addresses have no case. */
export function toWalletId(wallet: string) {
  return /^0x[0-9a-f]{40}$/i.test(wallet) ? wallet.toLowerCase() : wallet
}

/** Each wallet once, in its first spelling: an EVM address is the same in capitals. */
export function uniqueWallets(wallets: readonly string[]) {
  const bySpelling = new Map()
  for (const wallet of wallets.filter(Boolean)) {
    const key = toWalletId(wallet)
    if (!bySpelling.has(key)) bySpelling.set(key, wallet)
  }
  return [...bySpelling.values()]
}

/** Lists the wallets of a link: each in a field of its own, or several with commas between them. */
function listNamed(query: URLSearchParams) {
  return query.getAll('wallet').flatMap((entry) => entry.split(/[\s,;]+/))
}

/** Parses the part of a link behind `#`; what it lacks is as on a new page. */
export function parseView(fragment: string): View {
  const query = new URLSearchParams(fragment.replace(/^#/, ''))
  return {
    wallets: uniqueWallets(listNamed(query)).slice(0, WALLETS_MAX),
    asOf: query.get('as_of') ?? '',
    target: query.get('target') ?? TARGET_DEFAULT,
    kamino: query.getAll('kamino').slice(0, LIST_MAX),
  }
}

/** Returns the wallets of a link that its view does not show: beyond the most of one view, or no address. */
export function listUnshown(fragment: string, shown: readonly string[]) {
  const ids = new Set(shown.map(toWalletId))
  const query = new URLSearchParams(fragment.replace(/^#/, ''))
  const named = uniqueWallets(listNamed(query))
  return named.filter((wallet) => !ids.has(toWalletId(wallet)))
}

/** True if a view shows no wallet that was not shown before it, at the same moment: then nothing is paid for again. */
export function isPartOfView(view: Pick<View, 'wallets' | 'asOf'>, before: Pick<View, 'wallets' | 'asOf'>) {
  return view.asOf === before.asOf && view.wallets.every((wallet) => before.wallets.includes(wallet))
}

/** A view with one of its wallets selected. */
export interface WalletView extends View {
  readonly wallet: string
  /** Makes a name unique on the page. */
  readonly label: (name: string) => string
}

/** Formats the part of a link behind `#`, with it; empty without wallets. */
export function formatFragment({ wallets, asOf, target, kamino }: View) {
  if (wallets.length === 0) return ''
  const query = new URLSearchParams(wallets.map((wallet) => ['wallet', wallet]))
  if (asOf !== '') query.set('as_of', asOf)
  if (target !== TARGET_DEFAULT) query.set('target', target)
  for (const each of new Set(kamino)) query.append('kamino', each)
  return `#${query.toString().replaceAll('%3A', ':')}`
}
