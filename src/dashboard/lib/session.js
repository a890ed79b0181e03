/** What this tab remembers. Nothing of it is sent anywhere, except the key to this service. */

const KEY = 'walletscope.key'
const RECENT = 'walletscope.recent'
const NAMES = 'walletscope.names'
/** And the path of the page; the login page writes it. */
const SESSION = 'walletscope.session:'
const RECENT_MAX = 6
const NAMES_MAX = 30
export const KEY_FORM = /^ws_sk_[0-9A-Za-z]{24}$/

/** @returns {string | undefined} */
export function getStoredKey() {
  return read(KEY) ?? undefined
}

/** @param {string | undefined} key */
export function storeKey(key) {
  write(KEY, key)
}

/**
 * The second secret of a session, which the login left for this page. Cookies go to every port of a host, what a tab
 * keeps only to pages of one origin.
 */
export function getSessionSecret() {
  return read(SESSION + location.pathname) ?? undefined
}

export function clearSession() {
  write(SESSION + location.pathname, undefined)
}

/** Wallets looked at in this tab, newest first. @returns {string[]} */
export function getRecentWallets() {
  return list(RECENT)
    .filter((each) => typeof each === 'string')
    .slice(0, RECENT_MAX)
}

/** @param {string} wallet */
export function rememberWallet(wallet) {
  write(RECENT, JSON.stringify([wallet, ...getRecentWallets().filter((each) => each !== wallet)].slice(0, RECENT_MAX)))
}

export function clearWallets() {
  write(RECENT, undefined)
  write(NAMES, undefined)
}

/** The ENS name by which a wallet was found in this tab. @param {string} wallet @returns {string | undefined} */
export function getStoredName(wallet) {
  const [, name] = names().find(([of]) => of === wallet) ?? []
  return name
}

/** A name stands for one wallet: the one that it led to last. @param {string} wallet @param {string} name */
export function rememberName(wallet, name) {
  const others = names().filter(([of, by]) => of !== wallet && by !== name)
  write(NAMES, JSON.stringify([[wallet, name], ...others].slice(0, NAMES_MAX)))
}

/** Wallets with their names, newest first. @returns {(readonly string[])[]} */
function names() {
  return list(NAMES).filter(Array.isArray)
}

/** A list that was kept. @param {string} name @returns {unknown[]} */
function list(name) {
  try {
    const kept = JSON.parse(read(name) ?? '[]')
    return Array.isArray(kept) ? kept : []
  } catch {
    return []
  }
}

/** @param {string} name */
function read(name) {
  try {
    return sessionStorage.getItem(name)
  } catch {
    // Storage is switched off: the page works, and forgets when it is closed.
    return null
  }
}

/** @param {string} name @param {string | undefined} value */
function write(name, value) {
  try {
    if (value === undefined) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, value)
  } catch {
    // As above.
  }
}
