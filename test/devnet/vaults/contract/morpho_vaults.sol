// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {Id, IMorpho, MarketParams} from '@morpho-org/morpho-blue/src/interfaces/IMorpho.sol';
import {MarketParamsLib} from '@morpho-org/morpho-blue/src/libraries/MarketParamsLib.sol';
import {MorphoBalancesLib} from '@morpho-org/morpho-blue/src/libraries/periphery/MorphoBalancesLib.sol';
import {ERC4626Mock} from '@openzeppelin/contracts/mocks/token/ERC4626Mock.sol';
import {IERC20} from '@openzeppelin/contracts/token/ERC20/IERC20.sol';
import {Math} from '@openzeppelin/contracts/utils/math/Math.sol';

/// Tells which code is Morpho's.
contract MorphoRegistry {
    mapping(address => bool) public isMetaMorpho;

    function add(address code) external {
        isMetaMorpho[code] = true;
    }

    function isVaultV2(address code) external view returns (bool) {
        return isMetaMorpho[code];
    }

    function isInRegistry(address code) external view returns (bool) {
        return isMetaMorpho[code];
    }
}

/// Lends to Morpho Blue itself and tells what that is worth, and what it could take out now, by Morpho's own library.
abstract contract BlueLender {
    using MarketParamsLib for MarketParams;
    using MorphoBalancesLib for IMorpho;

    IMorpho internal immutable blue;

    constructor(address morpho) {
        blue = IMorpho(morpho);
    }

    function supplied(MarketParams memory params) internal view returns (uint256) {
        return blue.expectedSupplyAssets(params, address(this));
    }

    function payableNow(MarketParams memory params) internal view returns (uint256) {
        (uint256 lent, , uint256 owed, ) = blue.expectedMarketBalances(params);
        return Math.min(supplied(params), lent - owed);
    }

    function lend(MarketParams memory params, uint256 assets) internal {
        IERC20(params.loanToken).approve(address(blue), assets);
        blue.supply(params, assets, 0, address(this), '');
    }

    function takeOut(MarketParams memory params, uint256 assets) internal {
        blue.withdraw(params, assets, 0, address(this), address(this));
    }
}

/// A vault in the manner of MetaMorpho: it lends equal parts to its markets, and takes out in their order.
contract QueueVault is ERC4626Mock, BlueLender {
    using MarketParamsLib for MarketParams;

    MarketParams[] private markets;

    constructor(address asset, address morpho, MarketParams[] memory queue) ERC4626Mock(asset) BlueLender(morpho) {
        for (uint256 i = 0; i < queue.length; i++) markets.push(queue[i]);
    }

    function MORPHO() external view returns (address) {
        return address(blue);
    }

    function withdrawQueueLength() external view returns (uint256) {
        return markets.length;
    }

    function withdrawQueue(uint256 i) external view returns (Id) {
        return markets[i].id();
    }

    function totalAssets() public view override returns (uint256 sum) {
        for (uint256 i = 0; i < markets.length; i++) sum += supplied(markets[i]);
    }

    function maxWithdraw(address owner) public view override returns (uint256) {
        uint256 sum = 0;
        for (uint256 i = 0; i < markets.length; i++) sum += payableNow(markets[i]);
        return Math.min(super.maxWithdraw(owner), sum);
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        super._deposit(caller, receiver, assets, shares);
        for (uint256 i = 0; i < markets.length; i++) lend(markets[i], assets / markets.length);
    }

    function _withdraw(
        address caller,
        address receiver,
        address owner,
        uint256 assets,
        uint256 shares
    ) internal override {
        uint256 left = assets;
        for (uint256 i = 0; i < markets.length; i++) {
            uint256 part = Math.min(left, payableNow(markets[i]));
            if (part > 0) takeOut(markets[i], part);
            left -= part;
        }
        super._withdraw(caller, receiver, owner, assets, shares);
    }
}

/// What a vault in the manner of Morpho Vault V2 withdraws through.
abstract contract Adapter {
    address public immutable parentVault = msg.sender;

    modifier parent() {
        require(msg.sender == parentVault);
        _;
    }

    function allocate(uint256 assets) external virtual;
    function deallocate(uint256 assets) external virtual;
    function realAssets() external view virtual returns (uint256);
}

contract MarketAdapter is Adapter, BlueLender {
    using MorphoBalancesLib for IMorpho;

    MarketParams private market;

    constructor(address morpho_, MarketParams memory params) BlueLender(morpho_) {
        market = params;
    }

    function morpho() external view returns (address) {
        return address(blue);
    }

    function expectedSupplyAssets(Id) external view returns (uint256) {
        return supplied(market);
    }

    function realAssets() external view override returns (uint256) {
        return supplied(market);
    }

    function allocate(uint256 assets) external override parent {
        lend(market, assets);
    }

    function deallocate(uint256 assets) external override parent {
        takeOut(market, assets);
        IERC20(market.loanToken).transfer(parentVault, assets);
    }
}

contract QueueAdapter is Adapter {
    QueueVault public immutable morphoVaultV1;

    constructor(address vault) {
        morphoVaultV1 = QueueVault(vault);
    }

    function realAssets() external view override returns (uint256) {
        return morphoVaultV1.convertToAssets(morphoVaultV1.balanceOf(address(this)));
    }

    function allocate(uint256 assets) external override parent {
        IERC20(morphoVaultV1.asset()).approve(address(morphoVaultV1), assets);
        morphoVaultV1.deposit(assets, address(this));
    }

    function deallocate(uint256 assets) external override parent {
        morphoVaultV1.withdraw(assets, parentVault, address(this));
    }
}

/// A vault in the manner of Morpho Vault V2: half of what is deposited goes through its adapter, and what it does not hold
/// itself is taken out of that. The adapter is of a vault in the manner of MetaMorpho, else of a market.
contract AdapterVault is ERC4626Mock {
    Adapter public immutable liquidityAdapter;
    bytes public liquidityData;

    constructor(
        address asset,
        address morpho,
        address inner,
        MarketParams memory params
    ) ERC4626Mock(asset) {
        bool isOfVault = inner != address(0);
        liquidityAdapter = isOfVault ? Adapter(new QueueAdapter(inner)) : new MarketAdapter(morpho, params);
        if (!isOfVault) liquidityData = abi.encode(params);
    }

    function isAdapter(address code) external view returns (bool) {
        return code == address(liquidityAdapter);
    }

    function canSendShares(address) external pure returns (bool) {
        return true;
    }

    function canReceiveAssets(address) external pure returns (bool) {
        return true;
    }

    function idle() private view returns (uint256) {
        return IERC20(asset()).balanceOf(address(this));
    }

    function totalAssets() public view override returns (uint256) {
        return idle() + liquidityAdapter.realAssets();
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        super._deposit(caller, receiver, assets, shares);
        IERC20(asset()).transfer(address(liquidityAdapter), assets / 2);
        liquidityAdapter.allocate(assets / 2);
    }

    function _withdraw(
        address caller,
        address receiver,
        address owner,
        uint256 assets,
        uint256 shares
    ) internal override {
        if (assets > idle()) liquidityAdapter.deallocate(assets - idle());
        super._withdraw(caller, receiver, owner, assets, shares);
    }
}
