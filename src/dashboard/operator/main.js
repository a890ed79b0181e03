import { drawPage, html } from '../lib/view.js'
import { OperatorPage } from './page.js'

drawPage(html`<${OperatorPage} />`)
