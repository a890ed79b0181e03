// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../chain/call/page.sol';

interface IToken {
    function symbol() external view;
    function name() external view;
    function decimals() external view;
}

/// What tokens say about themselves, for every lens that answers tokens; `token.ts` decodes it.
abstract contract Tokens is LensPage {
    /// What one hostile token can burn.
    uint256 internal constant TOKEN_GAS_MAX = 3 * TEXT_GAS;

    /// Appends a token: address, u8 1 if `decimals` answered a uint8, u8 decimals, text symbol, text name.
    function describe(Page memory page, address token) internal view {
        put(page, uint160(token), 20);
        (bool ok, uint256 size) = askFor(page, token, IToken.decimals.selector, 4, TEXT_GAS, 32);
        ok = ok && size >= 32 && word(page.answer) < 256;
        put(page, ok ? 1 : 0, 1);
        put(page, ok ? word(page.answer) : 0, 1);
        text(page, token, IToken.symbol.selector);
        text(page, token, IToken.name.selector);
    }
}
