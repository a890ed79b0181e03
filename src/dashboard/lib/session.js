/** What this tab remembers. Nothing of it is sent anywhere, except the key to this service. */

const KEY = 'walletscope.key'
const RECENT = 'walletscope.recent'
/** And the path of the page; the login page writes it. */
const SESSION = 'walletscope.session:'
const RECENT_MAX = 6
export const KEY_FORM = /^ws_sk_[0-9A-Za-z]{24}$/

/** @returns {string | undefined} */
export function keptKey() {
  return read(KEY) ?? undefined
}

/** @param {string | undefined} key */
export function keepKey(key) {
  write(KEY, key)
}

/**
 * The second secret of a session, which the login left for this page. Cookies go to every port of a host, what a tab
 * keeps only to pages of one origin.
 */
export function sessionSecret() {
  return read(SESSION + location.pathname) ?? undefined
}

export function forgetSession() {
  write(SESSION + location.pathname, undefined)
}

/** Wallets looked at in this tab, newest first. @returns {string[]} */
export function recentWallets() {
  try {
    const list = JSON.parse(read(RECENT) ?? '[]')
    return Array.isArray(list) ? list.filter((each) => typeof each === 'string').slice(0, RECENT_MAX) : []
  } catch {
    return []
  }
}

/** @param {string} wallet */
export function rememberWallet(wallet) {
  write(RECENT, JSON.stringify([wallet, ...recentWallets().filter((each) => each !== wallet)].slice(0, RECENT_MAX)))
}

export function forgetWallets() {
  write(RECENT, undefined)
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
