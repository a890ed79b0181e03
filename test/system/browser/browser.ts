import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { IS_FULL } from '../../support/cases.ts'
import { mulberry } from '../../support/random.ts'

const AXE = await Bun.file(createRequire(import.meta.url).resolve('axe-core/axe.min.js')).text()
/** Paths of browsers. The headless shell comes first: the same engine with a tenth less work. */
const PLACES = [
  ...['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser'],
  ...['/usr/bin/google-chrome', '/opt/google/chrome/chrome'],
]
/** The first three would load invisible pages beside each opened page, which takes a second. */
const DISABLED_FEATURES = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'SpareRendererForSitePerProcess'],
  // Our list replaces Playwright's, so these are its entries about pages and network access.
  ...['AimEnabled', 'DestroyProfileOnBrowserClose', 'HttpsFirstBalancedModeAutoEnable', 'HttpsUpgrades', 'LensOverlay'],
  ...['MediaRouter', 'NetworkTimeServiceQuerying', 'OptimizationHints', 'PaintHolding', 'PreconnectToSearch'],
]
/** No network access beyond the pages under test, no sandbox for root, no optimizing compilers for short-lived pages. */
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--js-flags=--no-turbofan --no-maglev'],
  ...[`--disable-features=${DISABLED_FEATURES}`],
]

/** Program of a browser: BROWSER_PATH, or Chromium if it is installed. */
export const BROWSER = process.env['BROWSER_PATH'] ?? PLACES.find((path) => existsSync(path))
/** If set, a missing browser is a failure instead of a reason to skip tests. */
const REQUIRED = process.env['BROWSER_REQUIRED'] === 'true'

if (BROWSER === undefined) {
  if (REQUIRED) throw new Error('Cannot test the pages: BROWSER_REQUIRED is set, and no Chromium is installed')
  console.log('left out: tests of the pages in a browser, as no Chromium is installed')
}

/** If set, pages are slow and their answers come in any order, by this seed: what a test reads too early shows then. */
const RACES = process.env['RACES']
const RACE_DELAY_MS = 1_500
const RACE_CPU_RATE = 4

let launched: Promise<Browser> | undefined

/** Returns the browser, shared by all pages of this process, because a start takes as long as a test. Ends with the process. */
function theBrowser(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath: BROWSER ?? '', args: ARGUMENTS })
  return launched
}

/** A page with its errors and requests. */
export interface Watched {
  readonly page: Page
  /** Errors of scripts and violations of the policy; answers that are not a success are not among them. */
  readonly complaints: readonly string[]
  /** Addresses of all requests. */
  readonly requests: readonly string[]
  close(): Promise<void>
}

/** Opens an empty page in a browser profile of its own. */
export async function openPage(options: BrowserContextOptions = {}): Promise<Watched> {
  // Animations such as spinners would be rendered on the CPU.
  const still = { viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' } as const
  const context = await (await theBrowser()).newContext({ ...still, ...options })
  const page = await context.newPage()
  const complaints: string[] = []
  const requests: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) complaints.push(message.text())
  })
  page.on('request', (request) => requests.push(request.url()))
  if (RACES !== undefined) await provokeRaces(page, Number(RACES))
  return { page, complaints, requests, close: () => context.close() }
}

/** Slows a page down, and holds each of its answers for a random time. */
async function provokeRaces(page: Page, seed: number): Promise<void> {
  const random = mulberry(seed)
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: RACE_CPU_RATE })
  await page.context().route(/\/v1\//, async (route) => {
    await Bun.sleep(RACE_DELAY_MS * random())
    // The page may have left or closed.
    await route.continue().catch(() => undefined)
  })
}

/**
 * Opens a link to wallets in a tab that has a key, and reads them: a link alone spends nothing. With `areCardsOpen`, every row
 * is open from the start, as after a press of "Open all" in the tab.
 */
export async function openLink(page: Page, address: string, { areCardsOpen = true } = {}): Promise<void> {
  if (areCardsOpen) await page.addInitScript("sessionStorage.setItem('walletscope.cards', 'open')")
  await page.goto(address)
  await page.getByRole('button', { name: /^Read (?:it|them)$/ }).click()
}

/** What stands for an answer that is to come. */
const AWAITED = '[data-settled="false"], [aria-busy="true"], .skeleton, .preparing, .waiting'

/** Chains that every scene serves, in the list of what could not be read. */
const SERVED = /^(?:Ethereum|Solana)\b/
const TRIES_MAX = 5

/**
 * Waits until every answer that Explore asked for has come: until then rows change places and figures. What a busy machine could
 * not answer in time is read again, as a reader would.
 */
export async function settle(page: Page): Promise<void> {
  const late = page.locator('.away li').filter({ hasText: SERVED })
  for (let tries = 0; ; tries++) {
    await page.locator('[data-settled="true"]').first().waitFor()
    await page.locator(AWAITED).first().waitFor({ state: 'detached' })
    const reasons = await late.allTextContents()
    if (reasons.length === 0 || tries === TRIES_MAX) return
    console.log(`read again: ${reasons.join('; ')}`)
    const notice = page.locator('.away').filter({ has: page.locator('li').filter({ hasText: SERVED }) })
    await notice
      .first()
      .getByRole('button', { name: /^Try (?:all )?again$/ })
      .click()
  }
}

/** Returns the next success of a route whose answer the page shows: another reading may be of other blocks and histories. */
export async function waitForAnswer(page: Page, path: string): Promise<ReturnType<typeof JSON.parse>> {
  const answer = await page.waitForResponse((each) => new URL(each.url()).pathname === path && each.ok())
  return answer.json()
}

interface Audit {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
  readonly passes: readonly unknown[]
}

const LIGHT = { colorScheme: 'light', rules: {}, passesMin: 10 } as const
/** Only the rules that look at colours. */
const DARK = {
  colorScheme: 'dark',
  rules: { runOnly: ['color-contrast', 'link-in-text-block'] },
  passesMin: 1,
} as const

/** No details about passing nodes and no selectors: they take longer than the checks. */
const BRIEF = { resultTypes: ['violations'], selectors: false }

/**
 * Runs an accessibility audit of the page in light, and in dark with SEEDS=full or `dark`: all pages share a few colours.
 * Returns the violations.
 */
export async function audit(page: Page, { dark = IS_FULL } = {}): Promise<string[]> {
  const found: string[] = []
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE)
  // axe ignores the top layer of modal dialogs, and would check no colour in them.
  await page.evaluate("for (const each of document.querySelectorAll('dialog:modal')) each.style.zIndex = '99'")
  for (const { colorScheme, rules, passesMin } of dark ? [LIGHT, DARK] : [LIGHT]) {
    await page.emulateMedia({ colorScheme })
    const options = JSON.stringify({ ...rules, ...BRIEF })
    const { violations, passes } = (await page.evaluate(`axe.run(document, ${options})`)) as Audit
    if (passes.length < passesMin) found.push(`${colorScheme}: the audit saw no page`)
    for (const { id, nodes } of violations) {
      found.push(...nodes.map(({ html, failureSummary }) => `${colorScheme} ${id}: ${html} ${failureSummary}`))
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}

/** Widths that a page must fit: a small phone, and a desktop at 200 %. */
const WIDTHS = [360, 640]
const LOOKS_MAX = 400
const LOOK_MS = 25

/** Returns by how many pixels a page is wider than its window, at each width. */
export async function overflow(page: Page): Promise<number[]> {
  const before = page.viewportSize() ?? { width: 1280, height: 900 }
  const over: number[] = []
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 })
    // Pictures adapt to the width a moment later.
    let by = 1
    for (let looks = 0; by > 0 && looks < LOOKS_MAX; looks++) {
      await page.waitForTimeout(LOOK_MS)
      by = (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number
    }
    over.push(by)
  }
  await page.setViewportSize(before)
  return over
}

/** Clicks a button that saves rows as CSV, and returns one column. */
export async function savedColumn(page: Page, button: Locator, name: string): Promise<readonly (string | undefined)[]> {
  const saving = page.waitForEvent('download')
  await button.click()
  const text = await Bun.file(await (await saving).path()).text()
  const [head = '', ...rows] = text.trim().split('\r\n')
  const column = head.split(',').indexOf(name)
  return rows.map((row) => row.split(',')[column])
}

/** Returns the name or the text of the focused element. */
export function focused(page: Page): Promise<string> {
  return page.evaluate(
    `(() => { const e = document.activeElement; return e === document.body ? '' : e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent })()`,
  ) as Promise<string>
}

/** Presses Tab until the focus is on `name`; throws if it does not get there. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 120; presses++) {
    if ((await focused(page)).includes(name)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Cannot reach "${name}" by keyboard`)
}
