import { drawPage, html } from '../lib/view.js'
import { UsagePage } from './page.js'

drawPage(html`<${UsagePage} />`)
