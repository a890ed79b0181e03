import { collectFiles } from './collect.ts' with { type: 'macro' }

/** All files of the pages. Styles apply in this order. */
export const DASHBOARD_FILES = collectFiles()

/** Pages by path, each with its title and script. */
export const DASHBOARD_PAGES = {
  '/': { title: 'walletscope', script: 'explore/main.js' },
  '/usage': { title: 'Usage · walletscope', script: 'usage/main.js' },
}

/** Styles of pages of text. */
export const TEXT_STYLES = ['style/base.css', 'style/parts.css', 'style/text.css']

/** Operator pages by path. */
export const OPERATOR_PAGES = {
  '/operator': { title: 'Operator · walletscope', script: 'operator/main.js' },
}
