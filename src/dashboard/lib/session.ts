import { keptAnswers } from './kept_answers.ts'
import { toWalletId, uniqueWallets } from './link.ts'

/** Values stored in this tab. Only the key leaves it, and only to this service. */

const KEY = 'walletscope.key'
const RECENT = 'walletscope.recent'
const NAMES = 'walletscope.names'
const CARDS = 'walletscope.cards'
/** Prefix before the path of the page; the login page writes the entry. */
const SESSION = 'walletscope.session:'
const RECENT_MAX = 6
const NAMES_MAX = 30
export const KEY_FORM = /^ws_sk_[0-9A-Za-z]{24}$/

/** Returns the API key of this tab. */
export function getStoredKey(): string | undefined {
  return read(KEY) ?? undefined
}

/** Stores the API key for this tab, or forgets it. What was answered to another key is forgotten. */
export function storeKey(key: string | undefined) {
  if (key !== getStoredKey()) keptAnswers.clear()
  write(KEY, key)
}

/**
 * Returns the second secret of a session, which the login page stored. Browsers send cookies to every port of a host, but
 * only pages of the same origin can read what a tab stores.
 */
export function getSessionSecret() {
  return read(SESSION + location.pathname) ?? undefined
}

/** Forgets the second secret of the session of this page. */
export function clearSession() {
  write(SESSION + location.pathname, undefined)
}

/** Returns the wallets opened in this tab, newest first. */
export function getRecentWallets(): string[] {
  return readList(RECENT)
    .filter((each) => typeof each === 'string')
    .slice(0, RECENT_MAX)
}

/** Puts a wallet first among the recent ones. */
export function rememberWallet(wallet: string) {
  write(RECENT, JSON.stringify(uniqueWallets([wallet, ...getRecentWallets()]).slice(0, RECENT_MAX)))
}

/** Returns true if the reader of this tab last chose to see all cards open. */
export function getCardsShown() {
  return read(CARDS) === 'open'
}

/** Stores for this tab whether all cards are open. */
export function storeCardsShown(areShown: boolean) {
  write(CARDS, areShown ? 'open' : undefined)
}

/** Forgets the wallets of this tab, their names and what was answered of them. */
export function clearWallets() {
  keptAnswers.clear()
  write(RECENT, undefined)
  write(NAMES, undefined)
}

/** Returns the ENS name that led to a wallet in this tab. */
export function getStoredName(wallet: string): string | undefined {
  const [, name] = listNames().find(([stored = '']) => toWalletId(stored) === toWalletId(wallet)) ?? []
  return name
}

/** Stores the wallet of a name; replaces the previous entry of either. */
export function rememberName(wallet: string, name: string) {
  const others = listNames().filter(
    ([storedWallet = '', storedName]) => toWalletId(storedWallet) !== toWalletId(wallet) && storedName !== name,
  )
  write(NAMES, JSON.stringify([[wallet, name], ...others].slice(0, NAMES_MAX)))
}

/** Lists wallets with their names, newest first. */
function listNames(): (readonly string[])[] {
  return readList(NAMES).filter(Array.isArray)
}

/** Reads a stored list; empty if it is absent or malformed. */
function readList(name: string): unknown[] {
  try {
    const parsed = JSON.parse(read(name) ?? '[]')
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

function read(name: string) {
  try {
    return sessionStorage.getItem(name)
  } catch {
    // Storage is disabled: the page works without it.
    return null
  }
}

function write(name: string, value: string | undefined) {
  try {
    if (value === undefined) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, value)
  } catch {
    // Storage is disabled.
  }
}
