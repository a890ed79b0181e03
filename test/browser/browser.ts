import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { IS_FULL } from '../support/cases.ts'

const AXE = await Bun.file(createRequire(import.meta.url).resolve('axe-core/axe.min.js')).text()
/** Its headless form comes first: it is the same engine without the windows around it, a tenth less work. */
const PLACES = [
  ...['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser'],
  ...['/usr/bin/google-chrome', '/opt/google/chrome/chrome'],
]
/** The first three would load pages that nobody sees beside each page that is opened: a second of work. */
const DISABLED_FEATURES = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'SpareRendererForSitePerProcess'],
  // Playwright's own list, which ours replaces, as far as it concerns pages or strangers.
  ...['AimEnabled', 'DestroyProfileOnBrowserClose', 'HttpsFirstBalancedModeAutoEnable', 'HttpsUpgrades', 'LensOverlay'],
  ...['MediaRouter', 'NetworkTimeServiceQuerying', 'OptimizationHints', 'PaintHolding', 'PreconnectToSearch'],
]
/** Nothing but the pages under test may be reached, root has no sandbox, and no page lives until optimized code pays. */
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--js-flags=--no-turbofan --no-maglev'],
  ...[`--disable-features=${DISABLED_FEATURES}`],
]

/** Program of a browser: BROWSER_PATH, or Chromium if it is installed. */
export const BROWSER = process.env['BROWSER_PATH'] ?? PLACES.find((path) => existsSync(path))
/** Where browsers must be there, their absence is a failure and not a reason to leave tests out. */
const REQUIRED = process.env['BROWSER_REQUIRED'] === 'true'

if (BROWSER === undefined) {
  if (REQUIRED) throw new Error('Cannot test the pages: BROWSER_REQUIRED is set, and no Chromium is installed')
  console.log('left out: tests of the pages in a browser, as no Chromium is installed')
}

let launched: Promise<Browser> | undefined

/** The browser, one for all pages of this process: starting one takes as much work as a test. It ends with the process. */
function theBrowser(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath: BROWSER ?? '', args: ARGUMENTS })
  return launched
}

/** A page, and all that it complained about and asked for. */
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
  // What turns while somebody waits would be painted by the processor.
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
  return { page, complaints, requests, close: () => context.close() }
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

/** Nothing is told of nodes that pass, and nodes are not named by selectors: that takes longer than the checks. */
const BRIEF = { resultTypes: ['violations'], selectors: false }

/**
 * What an accessibility audit of the page as it stands finds in light, and in dark with SEEDS=full or if it is asked for:
 * all pages take their colours from the same few.
 */
export async function audit(page: Page, { dark = IS_FULL } = {}): Promise<string[]> {
  const found: string[] = []
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE)
  // The audit does not know that a modal dialog is above everything, and would judge no colour in it.
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

/** Widths at which a page has to fit: a small phone, and a desktop at 200 %. */
const WIDTHS = [360, 640]
const LOOKS_MAX = 400
const LOOK_MS = 25

/** By how many pixels a page is wider than its window, at each width. */
export async function overflow(page: Page): Promise<number[]> {
  const before = page.viewportSize() ?? { width: 1280, height: 900 }
  const over: number[] = []
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 })
    // Pictures follow the width a moment later, which is long if the machine is busy.
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

/** One column of the rows that a button saves as CSV. */
export async function savedColumn(page: Page, button: Locator, name: string): Promise<readonly (string | undefined)[]> {
  const saving = page.waitForEvent('download')
  await button.click()
  const text = await Bun.file(await (await saving).path()).text()
  const [head = '', ...rows] = text.trim().split('\r\n')
  const column = head.split(',').indexOf(name)
  return rows.map((row) => row.split(',')[column])
}

/** What has the focus: its name, else its text. */
export function focused(page: Page): Promise<string> {
  return page.evaluate(
    `(() => { const e = document.activeElement; return e === document.body ? '' : e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent })()`,
  ) as Promise<string>
}

/** How many stops the Tab key makes in each card. */
export function stops(page: Page): Promise<number[]> {
  return page.evaluate(
    `[...document.querySelectorAll('.card')].map((card) => [...card.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]
      .filter((each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility({ visibilityProperty: true })).length)`,
  ) as Promise<number[]>
}

/** Presses Tab until the focus is on `name`; throws if it does not get there. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 120; presses++) {
    if ((await focused(page)).includes(name)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Cannot reach "${name}" by keyboard`)
}
